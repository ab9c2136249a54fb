#include "longspan/models/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "longspan/base/rng.h"

namespace longspan::models {

namespace {

constexpr int64_t kPromptPiece = 8192;    // bounds the memory of a long prompt
constexpr uint64_t kStream = 0x67656e65;  // keeps these draws apart from other uses of a seed

at::Tensor token_tensor(const int64_t* tokens, int64_t count) {
  return torch::from_blob(const_cast<int64_t*>(tokens), {1, count}, torch::kLong).clone();
}

}  // namespace

const FieldTable<GenerateOptions>& generate_fields() {
  static const auto table =
      FieldTable<GenerateOptions>("generate")
          .integer("tokens", &GenerateOptions::tokens, {0, 1e15}, "tokens to draw")
          .real("temperature", &GenerateOptions::temperature, {0, 100}, "0 takes the most likely token")
          .integer("top_k", &GenerateOptions::top_k, {0, 1 << 24}, "draw among the k most likely, 0 = all")
          .real("top_p", &GenerateOptions::top_p, {0, 1}, "draw among the likeliest that make up this probability")
          .integer("seed", &GenerateOptions::seed, {0, 0x1p53}, "of the draws");
  return table;
}

int64_t sample(const at::Tensor& logits, const GenerateOptions& options, double uniform) {
  const at::Tensor values = logits.detach().flatten().to(at::kDouble).contiguous();
  const double* logit = values.const_data_ptr<double>();
  const int64_t count = values.numel();
  LONGSPAN_CHECK(count >= 1, "sample: there are no logits");
  if (!values.isfinite().all().item<bool>()) throw RunError("sample: a logit is not finite");
  std::vector<int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const auto likelier = [logit](int64_t a, int64_t b) { return logit[a] != logit[b] ? logit[a] > logit[b] : a < b; };
  if (options.temperature == 0) return *std::min_element(order.begin(), order.end(), likelier);

  const int64_t kept = options.top_k > 0 ? std::min(options.top_k, count) : count;
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), likelier);
  order.resize(static_cast<std::size_t>(kept));
  std::vector<double> weight(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    weight[i] = std::exp((logit[order[i]] - logit[order[0]]) / options.temperature);
  double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  if (options.top_p < 1) {
    double sum = 0;
    std::size_t n = 0;
    while (n < weight.size() && (n == 0 || sum < options.top_p * total)) sum += weight[n++];
    weight.resize(n);
    total = sum;
  }
  double left = uniform * total;
  for (std::size_t i = 0; i + 1 < weight.size(); ++i) {
    if (left < weight[i]) return order[i];
    left -= weight[i];
  }
  return order[weight.size() - 1];
}

std::vector<int64_t> generate(LanguageModel& model, ModelState& state, at::Tensor last, const GenerateOptions& options,
                              const TokenCallback& on_token) {
  generate_fields().validate(options);
  LONGSPAN_CHECK(state.batch() == 1, "generate: the state must hold one stream, got ", state.batch());
  c10::InferenceMode inference;
  std::vector<int64_t> out;
  Rng rng(static_cast<uint64_t>(options.seed), stream_of({kStream}));
  while (static_cast<int64_t>(out.size()) < options.tokens) {
    out.push_back(sample(model.logits(last), options, rng.uniform()));
    if (on_token && !on_token(out.back())) break;
    if (static_cast<int64_t>(out.size()) < options.tokens)
      last = model.extend(state, token_tensor(&out.back(), 1)).select(1, 0).select(0, 0);
  }
  return out;
}

std::vector<int64_t> generate(LanguageModel& model, const std::vector<int64_t>& prompt, const GenerateOptions& options,
                              const TokenCallback& on_token) {
  generate_fields().validate(options);
  LONGSPAN_CHECK(!prompt.empty(), "generate: the prompt must have at least one token");
  c10::InferenceMode inference;
  ModelState state = model.begin(1);
  at::Tensor hidden;
  const int64_t size = static_cast<int64_t>(prompt.size());
  for (int64_t begin = 0; begin < size; begin += kPromptPiece)
    hidden = model.extend(state, token_tensor(prompt.data() + begin, std::min(kPromptPiece, size - begin)));
  return generate(model, state, hidden.select(0, 0).select(0, hidden.size(1) - 1), options, on_token);
}

}  // namespace longspan::models
