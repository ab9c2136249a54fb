// A language model that reads several endless streams at once, token by token and in portions, with a state of constant
// size: what a service does that watches logs. Streams join, rest and leave.
#include <c10/core/InferenceMode.h>
#include <torch/types.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "longspan/models/stream_batch.h"

namespace {

namespace models = longspan::models;

/// A small model with weights as they are drawn; a program would call models::load_model(folder).
std::shared_ptr<models::LanguageModel> make_model() {
  models::ModelConfig config;
  config.attention = "lavo";
  config.attention_options = {{"r", int64_t{8}}, {"w", int64_t{16}}};
  config.layers = 2;
  config.width = 64;
  config.heads = 4;
  config.feed_forward = 128;
  config.vocabulary = 256;  // bytes
  auto model = std::make_shared<models::LanguageModel>(config);
  model->eval();  // streams are read without dropout
  return model;
}

/// Some tokens of an endless input.
std::vector<int64_t> next_tokens(int64_t count) {
  static int64_t at = 0;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i, ++at) out.push_back((at * at + 7 * at) % 256);
  return out;
}

}  // namespace

int main() {
  try {
    const c10::InferenceMode inference;  // nothing is to be trained
    const auto loaded = make_model();
    models::LanguageModel& model = *loaded;
    models::StreamBatch streams;
    const auto first = streams.add(model.begin(1)), second = streams.add(model.begin(1));
    const int64_t bytes = streams.bytes();

    for (int64_t round = 0; round < 200; ++round) {
      // Any stream may bring any number of tokens; `second` rests in every other round.
      const std::vector<int64_t> a = next_tokens(1 + round % 5), b = next_tokens(round % 2);
      const std::vector<at::Tensor> hidden = streams.step(model, {{first, a}, {second, b}});  // [n, E] of each
      const at::Tensor logits = model.logits(hidden[0]);                                      // [n, V]
      if (round % 50 == 0)
        std::printf("round %3lld: stream 0 has read %4lld tokens and expects %3lld next; all states: %lld bytes\n",
                    static_cast<long long>(round), static_cast<long long>(streams.position(first)),
                    static_cast<long long>(logits[-1].argmax().item<int64_t>()),
                    static_cast<long long>(streams.bytes()));
    }
    const bool constant = streams.bytes() == bytes;

    // A stream leaves with its state and goes on somewhere else.
    models::ModelState state = streams.remove(second);
    model.extend(state, torch::tensor(next_tokens(3)).unsqueeze(0));  // [1, 3]
    std::printf("stream 1 left and has read %lld tokens; %lld stays\n",
                static_cast<long long>(state.positions[0].item<int64_t>()), static_cast<long long>(streams.size()));
    return constant ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stream: %s\n", error.what());
    return 1;
  }
}
