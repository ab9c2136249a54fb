// longspan task predict: what a model of a task says about examples without their answers.
#include <CLI/CLI.hpp>
#include <algorithm>
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
#include "tools/longspan/task/reading_flags.h"
#include "tools/longspan/task/record_flags.h"
#include "tools/longspan/task/task.h"

namespace longspan::tool {

namespace {

struct TaskPredictFlags {
  std::string model;
  std::vector<std::string> files;
  RecordFlags records;
  ReadingFlags reading;
  int64_t top = 5;
  bool latest = false;
};

/// Places are null for the empty answer.
Json answer_json(const tasks::Answer& answer) {
  const auto place = [&](int64_t at) { return answer.text.empty() ? Json() : Json(at); };
  return {{"answer", answer.text},
          {"start", place(answer.bytes.begin)},
          {"end", place(answer.bytes.end)},
          {"start_character", place(answer.characters.begin)},
          {"end_character", place(answer.characters.end)},
          {"score", answer.score},
          {"probability", answer.probability()}};
}

Json place_of(const RecordPlace& place) { return {{"file", *place.file}, {"line", place.line}}; }

class Predictor {
 public:
  Predictor(const TaskPredictFlags& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        loaded_(models::load_encoder(model_to_read(options.model, options.latest))) {
    if (common.dtype == "float64") loaded_.model->to(at::kDouble);
    sequences_ = options.reading.sequences(loaded_);
    answers_ = options.reading.answers(loaded_);
    records_ = options.records.options(options.files);
    records_.read_answers = false;
    records_.utf8 = loaded_.tokenizer->name() != "bytes";
  }

  void run() {
    PrepareProgress progress(common_.quiet);
    const auto add = [&](auto&& record) {
      tasks::add_record(set_, sequences_, std::move(record));
      if (set_.size() == kTogether) flush();
    };
    switch (head().kind) {
      case models::HeadKind::question:
        read_question_records(records_, progress, add);
        break;
      case models::HeadKind::choice:
        read_choice_records(records_, progress, add);
        break;
      case models::HeadKind::masked_language:
        read_text_records(records_, RecordLabels::none, progress, [&](TextRecord&& record) { fill(record); });
        break;
      case models::HeadKind::classification:
      case models::HeadKind::multi_label:
        read_text_records(records_, RecordLabels::none, progress, add);
        break;
    }
    flush();
    progress.finish();
    tell_cut("the examples", counts_, sequences_.length);
  }

 private:
  static constexpr int64_t kTogether = 32;

  const models::HeadConfig& head() const { return loaded_.model->head_config(); }

  /// Says what the model thinks of the examples read so far.
  void flush() {
    if (set_.size() == 0) return;
    stop_if_interrupted();
    tasks::predict(
        *loaded_.model, set_, common_.dtype == "bfloat16",
        [&](const tasks::Prediction& prediction) { print(prediction); }, answers_);
    counts_.records += set_.records;
    counts_.truncated += set_.truncated;
    counts_.longest_record = std::max(counts_.longest_record, set_.longest_record);
    set_ = {};
  }

  void print(const tasks::Prediction& prediction) {
    const auto number = static_cast<std::size_t>(prediction.example);
    Json json = place_of(set_.places[number]);
    if (!set_.ids[number].empty()) json["id"] = set_.ids[number];
    if (head().kind == models::HeadKind::question) {
      json.update(answer_json(prediction.answer));
      if (prediction.no_answer_score) json["no_answer_score"] = *prediction.no_answer_score;
      if (answers_.best > 1) {
        Json& best = json["best"] = Json::array();
        for (const tasks::Answer& answer : prediction.best) best.push_back(answer_json(answer));
      }
    } else {
      const bool choice = head().kind == models::HeadKind::choice;
      const auto& names = choice ? set_.choices[number].candidates : head().labels;
      const auto name = [&](int64_t label) { return names[static_cast<std::size_t>(label)]; };
      if (head().kind == models::HeadKind::multi_label) {
        json["labels"] = Json::array();
        for (const int64_t label : prediction.labels) json["labels"].push_back(name(label));
      } else {
        json[choice ? "answer" : "label"] = name(prediction.labels.front());
      }
      Json& all = json["probabilities"] = Json::object();
      for (std::size_t label = 0; label < prediction.probabilities.size(); ++label)
        all[names[label]] = prediction.probabilities[label];
    }
    print_json(json);
  }

  void fill(const TextRecord& record) {
    stop_if_interrupted();
    Json json = place_of(record.place);
    if (!record.id.empty()) json["id"] = record.id;
    json["masks"] = Json::array();
    for (const tasks::FilledMask& mask : tasks::fill_text(*loaded_.model, sequences_, record, options_.top)) {
      Json candidates = Json::array();
      for (const auto& [text, probability] : mask.candidates)
        candidates.push_back({{"text", text}, {"probability", probability}});
      json["masks"].push_back(candidates);
    }
    print_json(json);
  }

  const TaskPredictFlags& options_;
  const CommonOptions& common_;
  models::LoadedEncoder loaded_;
  tasks::SequenceOptions sequences_;
  tasks::AnswerOptions answers_;
  RecordOptions records_;
  tasks::ExampleSet set_;
  tasks::ExampleSet counts_;  // of all that was read, without the examples
};

}  // namespace

Action set_up_task_predict(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<TaskPredictFlags>();
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("files", options->files,
                 std::string("examples, whose labels and answers are not read: ") + kExampleFiles)
      ->required();
  options->reading.add(app, /*best=*/true);
  app.add_option("--top", options->top, "masked_language: candidates for each <mask> of the text (default: 5)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--latest", options->latest, kLatestHelp);
  options->records.add(app);
  return [options, &common] { Predictor(*options, common).run(); };
}

}  // namespace longspan::tool
