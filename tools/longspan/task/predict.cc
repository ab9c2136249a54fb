// longspan task predict: what a model of a task says about examples without their answers.
#include <CLI/CLI.hpp>
#include <memory>

#include "longspan/base/check.h"
#include "longspan/models/encoder_files.h"
#include "longspan/tasks/evaluate.h"
#include "longspan/tasks/fill_text.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"
#include "tools/longspan/prepare_progress.h"
#include "tools/longspan/task/examples.h"
#include "tools/longspan/task/model_folder.h"
#include "tools/longspan/task/task.h"

namespace longspan::tool {

namespace {

struct Options {
  std::string model;
  std::vector<std::string> files;
  RecordFlags records;
  int64_t length = 0, top = 5;
  bool latest = false;
};

Json place_of(const RecordPlace& place) { return {{"file", *place.file}, {"line", place.line}}; }

class Predictor {
 public:
  Predictor(const Options& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        loaded_(models::load_encoder(model_to_read(options.model, options.latest))) {
    if (common.dtype == "float64") loaded_.model->to(at::kDouble);
    sequences_ =
        sequences_of(loaded_.model->encoder_config(), head().kind, *loaded_.tokenizer, options.length, loaded_.config);
    records_ = options.records.options(options.files);
    records_.read_answers = false;
    records_.utf8 = loaded_.tokenizer->name() != "bytes";
  }

  void run() {
    PrepareProgress progress(common_.quiet);
    if (head().kind == models::HeadKind::question)
      read_question_records(records_, progress, [&](QuestionRecord&& record) {
        tasks::add_record(set_, sequences_, std::move(record));
        if (set_.size() == kTogether) flush();
      });
    else
      read_text_records(records_, RecordLabels::none, progress, [&](TextRecord&& record) {
        if (head().kind == models::HeadKind::masked_language) return fill(record);
        tasks::add_record(set_, sequences_, std::move(record));
        if (set_.size() == kTogether) flush();
      });
    flush();
    progress.finish();
  }

 private:
  static constexpr int64_t kTogether = 32;

  const models::HeadConfig& head() const { return loaded_.model->head_config(); }

  /// Says what the model thinks of the examples read so far.
  void flush() {
    if (set_.size() == 0) return;
    stop_if_interrupted();
    tasks::predict(*loaded_.model, set_, common_.dtype == "bfloat16",
                   [&](const tasks::Prediction& prediction) { print(prediction); });
    set_ = {};
  }

  void print(const tasks::Prediction& prediction) {
    const auto number = static_cast<std::size_t>(prediction.example);
    Json json = place_of(set_.places[number]);
    const auto name = [&](int64_t label) { return head().labels[static_cast<std::size_t>(label)]; };
    if (head().kind == models::HeadKind::question) {
      json["answer"] = prediction.answer;
      json["start"] = prediction.answer.empty() ? Json() : Json(prediction.answer_begin);
      json["probability"] = prediction.probability;
    } else {
      if (head().kind == models::HeadKind::classification) {
        json["label"] = name(prediction.labels.front());
      } else {
        json["labels"] = Json::array();
        for (const int64_t label : prediction.labels) json["labels"].push_back(name(label));
      }
      Json& all = json["probabilities"] = Json::object();
      for (std::size_t label = 0; label < prediction.probabilities.size(); ++label)
        all[head().labels[label]] = prediction.probabilities[label];
    }
    print_json(json);
  }

  void fill(const TextRecord& record) {
    stop_if_interrupted();
    Json json = place_of(record.place);
    json["masks"] = Json::array();
    for (const tasks::FilledMask& mask : tasks::fill_text(*loaded_.model, sequences_, record, options_.top)) {
      Json candidates = Json::array();
      for (const auto& [text, probability] : mask.candidates)
        candidates.push_back({{"text", text}, {"probability", probability}});
      json["masks"].push_back(candidates);
    }
    print_json(json);
  }

  const Options& options_;
  const CommonOptions& common_;
  models::LoadedEncoder loaded_;
  tasks::SequenceOptions sequences_;
  RecordOptions records_;
  tasks::ExampleSet set_;
};

}  // namespace

Action set_up_task_predict(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("files", options->files,
                 std::string("examples, whose labels and answers are not read: ") + kExampleFiles)
      ->required();
  app.add_option("--length", options->length, "tokens of an example at the most (default: as in training)")
      ->check(CLI::Range(8, 1 << 30));
  app.add_option("--top", options->top, "masked_language: candidates for each <mask> of the text (default: 5)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--latest", options->latest, kLatestHelp);
  options->records.add(app);
  return [options, &common] { Predictor(*options, common).run(); };
}

}  // namespace longspan::tool
