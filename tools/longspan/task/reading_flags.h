// How a model of a task reads the examples that it is measured on or asked about.
#pragma once

#include <optional>

#include "longspan/base/fields.h"
#include "longspan/models/encoder_files.h"
#include "longspan/tasks/options.h"
#include "longspan/tasks/predictions.h"

namespace CLI {
class App;
}

namespace longspan::tool {

class ReadingFlags {
 public:
  /// This outlives the parser. `best`: several answers may be asked for.
  void add(CLI::App& app, bool best);

  /// The sequences of a loaded model: where a flag says nothing, as it was trained. InputError for sequences longer
  /// than its learned positions.
  tasks::SequenceOptions sequences(const models::LoadedEncoder& loaded) const;
  /// InputError when something was said of answers and the model is not for questions.
  tasks::AnswerOptions answers(const models::LoadedEncoder& loaded) const;

 private:
  int64_t length_ = 0;
  FieldValues windows_;
  std::optional<int64_t> answer_tokens_, best_;
  std::optional<double> threshold_;
};

/// The options that a loaded model was trained with.
tasks::TaskOptions trained_options(const models::LoadedEncoder& loaded);

}  // namespace longspan::tool
