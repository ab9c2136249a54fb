// One model of a study on text, trained and measured.
#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/data/dataset.h"
#include "longspan/metrics/likelihood.h"
#include "longspan/report/format.h"
#include "longspan/train/data_identity.h"
#include "longspan/train/evaluate.h"
#include "longspan/train/train.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/study/cell_steps.h"
#include "tools/longspan/study/study.h"

namespace longspan::tool {

namespace {

/// Whether reading a token costs more the more were read.
bool grows(const models::LanguageModel& model) {
  return model.attention_cost(1 << 16).state_bytes > 2 * model.attention_cost(1 << 12).state_bytes;
}

}  // namespace

int64_t validated_length(int64_t length) { return std::max(length, train::kTargetBlock); }

std::string text_identity(const Json& data) {
  std::string text = train::identity_of(Dataset(data.at("train").get<std::string>()).split("train"));
  for (const Json& document : data.at("held_out"))
    text += "; " + train::identity_of(Dataset(document.at("folder").get<std::string>()).split("train"));
  return text;
}

Json run_text_cell(const Json& config, const Json& data, const CellProgress& progress) {
  LONGSPAN_CHECK(config.at("text") == text_identity(data),
                 "study text: the cell is of other text than the study's folder holds; run the study");
  const models::ModelConfig shape = models::config_from_json(config.at("model"));
  train::TrainOptions options;
  train::merge_json(options, config.at("train"));
  const Json& measure = config.at("measure");
  const Dataset dataset(data.at("train").get<std::string>());
  const auto model = train::make_model(shape, options.seed);
  train::Trainer trainer(model, dataset.split("train"), nullptr, options);
  CellSteps steps(progress, "bits per byte", [](double loss) { return metrics::bits(loss); });
  if (!trainer.run(steps)) throw Interrupted();
  model->eval();

  const auto blocks = measure.at("blocks").get<int64_t>(), limit = measure.at("growing_blocks").get<int64_t>();
  const auto evaluate = [&](const TokenFile& tokens, int64_t longest, int64_t length, int64_t count, int64_t fewer) {
    train::EvaluateOptions evaluation;
    evaluation.blocks = count;
    evaluation.first_target = 0;  // from the first place behind the longest context
    return train::ContextEvaluation(*model, tokens, longest, evaluation).run(length, fewer, [&](int64_t, int64_t) {
      stop_if_interrupted();
      progress(options.steps, "reads " + report::length_label(length));
    });
  };
  const int64_t validated = validated_length(options.length);
  const double validation =
      evaluate(dataset.split("valid"), validated, validated, measure.at("valid_blocks").get<int64_t>(), 0)
          .bits_per_byte;
  Json scores = Json::array(), state = Json::object();
  const auto lengths = measure.at("lengths").get<std::vector<int64_t>>();
  for (const int64_t length : lengths) state[std::to_string(length)] = model->attention_cost(length).state_bytes;
  for (const Json& document : data.at("held_out")) {
    const Dataset held_out(document.at("folder").get<std::string>());
    for (const int64_t length : lengths) {
      // A context so much longer than a block that a growing state makes it too expensive.
      const int64_t fewer = grows(*model) && length > (1 << 14) ? limit : 0;
      const auto result = evaluate(held_out.split("train"), lengths.back(), length, blocks, fewer);
      scores.push_back({{"document", document.at("name")},
                        {"length", length},
                        {"blocks", result.blocks},
                        {"bits_per_byte", result.bits_per_byte}});
    }
  }
  return {{"parameters", model->parameter_count()},
          {"feed_forward", shape.feed_forward},
          {"state_bytes", state},
          {"validation_bits_per_byte", validation},
          {"scores", scores},
          {"curve", steps.curve()},
          {"tokens", steps.tokens()},
          {"train_seconds", steps.seconds()}};
}

}  // namespace longspan::tool
