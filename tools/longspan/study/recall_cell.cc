// One model of a study of recall, trained and measured.
#include <filesystem>

#include "longspan/base/check.h"
#include "longspan/data/recall_tokenizer.h"
#include "longspan/report/format.h"
#include "longspan/tasks/recall.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/recall/config.h"
#include "tools/longspan/recall/recall.h"
#include "tools/longspan/study/cell_steps.h"
#include "tools/longspan/study/study.h"

namespace longspan::tool {

namespace {

RecallConfig config_of(const Json& config) {
  RecallSources sources;
  sources.base = {{"model", config.at("model")}, {"train", config.at("train")}, {"recall", config.at("recall")}};
  return read_recall_config(sources);
}

}  // namespace

Json run_recall_cell(const Json& config, const std::string& model_folder, const CellProgress& progress) {
  const RecallConfig recipe = config_of(config);
  const Json& measure = config.at("measure");
  const auto model = train::make_model(recipe.model, recipe.train.seed);
  const auto trainer = tasks::recall_trainer(model, recipe.recall, recipe.train);
  CellSteps steps(progress, "nats an answer", [](double loss) { return loss; });
  bool done = false;
  if (config.value("keep_model", false)) {
    std::filesystem::remove_all(model_folder);
    const auto tokenizer = recall_tokenizer(recipe.recall);
    done = trainer->run(steps, model_folder, tokenizer.get(), Json{{"recall", longspan::to_json(recipe.recall)}});
  } else {
    done = trainer->run(steps);
  }
  if (!done) throw Interrupted();
  model->eval();

  tasks::RecallEvaluation evaluation;
  evaluation.questions = measure.at("questions").get<int64_t>();
  evaluation.span = measure.at("span").get<int64_t>();
  evaluation.seed = measure.at("seed").get<uint64_t>();
  Json scores = Json::array(), state = Json::object();
  for (const int64_t length : measure.at("lengths").get<std::vector<int64_t>>()) {
    state[std::to_string(length)] = model->attention_cost(length).state_bytes;
    for (const int64_t pairs : measure.at("pairs").get<std::vector<int64_t>>())
      scores.push_back(
          to_json(tasks::evaluate_recall(*model, recipe.recall, pairs, length, evaluation, [&](int64_t, int64_t) {
            stop_if_interrupted();
            progress(recipe.train.steps, str_cat("answers, n ", report::length_label(length), ", K ", pairs));
          })));
  }
  const tasks::RecallResult validation = tasks::validate_recall(*model, recipe.recall, recipe.train.length, evaluation);
  return {{"parameters", model->parameter_count()},
          {"heads", recipe.model.layers * recipe.model.heads},
          {"state_bytes", state},
          {"validation", to_json(validation)},
          {"scores", scores},
          {"curve", steps.curve()},
          {"train_seconds", steps.seconds()}};
}

}  // namespace longspan::tool
