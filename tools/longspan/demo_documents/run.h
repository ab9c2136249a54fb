// The document demo's measurements, each one filling in its part of the results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "longspan/models/encoder_model.h"
#include "longspan/tasks/examples.h"
#include "longspan/text/tokenizer.h"
#include "results.h"
#include "tools/longspan/command.h"

namespace longspan::tool {

/// What every measurement works with.
struct DocumentRun {
  const DocumentPlan& plan;
  const CommonOptions& common;
  const Tokenizer& tokenizer;
  DocumentResults& results;
};

/// The examples of a task, cut to its longest sequence.
struct TaskExamples {
  tasks::ExampleSet train, valid, test;
  models::HeadConfig head;
};
TaskExamples read_task(const DocumentRun& run, const DocumentTask& task);

/// What is known of a task without a model: sizes, chance, and the bag-of-words line.
void measure_data(DocumentRun& run, const DocumentTask& task, const TaskExamples& examples);

using TrainedEncoder = std::shared_ptr<models::EncoderModel>;

/// Trains one attention on one task, going on from the encoder `from` (null: from the beginning), and returns score and
/// model. Throws Interrupted on Ctrl-C.
std::pair<DocumentScore, TrainedEncoder> train_document_task(DocumentRun& run, const DocumentTask& task,
                                                             const TaskExamples& examples,
                                                             const DocumentContender& contender, int64_t seed,
                                                             const TrainedEncoder& from);

/// A training step of one sequence by length, every attention in turn.
void measure_steps(DocumentRun& run);

}  // namespace longspan::tool
