#include "task_score.h"

#include "longspan/base/check.h"

namespace longspan::tool {

models::EncoderConfig encoder_of(const DocumentPlan& plan, const DocumentContender& contender,
                                 const Tokenizer& tokenizer) {
  models::EncoderConfig config;
  config.attention = contender.attention;
  config.attention_options = contender.options;
  config.layers = plan.layers;
  config.width = plan.width;
  config.heads = plan.heads;
  config.feed_forward = plan.feed_forward;
  config.vocabulary = tokenizer.vocabulary_size() + models::kSpecialTokens;
  config.norm = models::NormPlace::pre;
  config.max_positions = plan.positions;
  config.dropout = 0;  // every document is read once or twice
  return config;
}

double score_in(const DocumentTask& task, const metrics::Metrics& measured) {
  const std::string wanted = task.kind == DocumentTask::Kind::question ? "f1" : "accuracy";
  if (const auto value = metrics::value_of(measured, wanted)) return *value;
  throw InternalError("a task without the metric " + wanted);
}

}  // namespace longspan::tool
