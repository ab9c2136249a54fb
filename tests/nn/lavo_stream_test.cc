// Every option of LAVO that changes its state, with every other.
#include <utility>

#include "longspan/base/rng.h"
#include "support.h"

namespace longspan::nn {
namespace {

constexpr int64_t kWindow = 3;

std::vector<FieldValues> product() {
  std::vector<FieldValues> out;
  for (const char* update : {"token", "window"})
    for (const char* history : {"shared", "block_causal", "block_bidirectional"})
      for (const char* projection : {"value", "key", "own", "input_slice"})
        for (const char* input : {"aggregated", "raw"})
          for (const char* accumulator : {"float64", "float32_compensated", "float32"}) {
            if (std::string(history) == "block_bidirectional" && std::string(update) == "token") continue;
            out.push_back({{"r", int64_t{4}},
                           {"w", kWindow},
                           {"memory_update", update},
                           {"history_attention", history},
                           {"memory_proj", projection},
                           {"memory_input", input},
                           {"accumulator", accumulator}});
          }
  return out;
}

std::string title(const FieldValues& options) {
  std::string out;
  for (const auto& [name, value] : options) out += str_cat(name, "=", longspan::to_string(value), " ");
  return out;
}

// Around the window, and across the borders of the sums' chunks of 256 positions.
TEST(LavoStreams, AnyCutEqualsTheWhole) {
  const at::NoGradGuard no_grad;
  Rng random(1, 1);
  for (const FieldValues& options : product()) {
    SCOPED_TRACE(title(options));
    const auto module = make("lavo", Pattern::causal_self, options);
    for (const int64_t length : {int64_t{1}, kWindow - 1, kWindow, kWindow + 1, 3 * kWindow + 2, int64_t{1000}}) {
      const at::Tensor x = normal({1, length, 16}, 1), whole = module->forward(x);
      State state = module->begin(1);
      std::vector<at::Tensor> parts;
      std::string cuts;
      for (int64_t at = 0; at < length;) {
        const auto third = static_cast<int64_t>(random.below(static_cast<uint64_t>(length / 3 + 2)));
        const int64_t size = std::min(third, length - at);
        parts.push_back(module->extend(state, x.narrow(1, at, size)));
        cuts += str_cat(" ", size);
        at += size;
      }
      EXPECT_TRUE(close(at::cat(parts, 1), whole, layer_bound(*module, x, length))) << "pieces" << cuts;
    }
  }
}

// Also where the streams are read as a pack, and where features are known only once their window is complete.
TEST(LavoStreams, ReadTheMemoryOfTheOneBefore) {
  const at::NoGradGuard no_grad;
  for (const char* history : {"shared", "block_causal", "block_bidirectional"}) {
    SCOPED_TRACE(history);
    const auto module =
        make("lavo", Pattern::causal_self, small_lavo({{"memory_update", "window"}, {"history_attention", history}}));
    const at::Tensor x = normal({3, 17, 16}, 1), plain = module->forward(x);
    module->ablate("memory", "swap");
    const at::Tensor whole = module->forward(x);
    const double bound = layer_bound(*module, x, 17);
    EXPECT_GT((whole - plain).abs().max().item<double>(), 1e-3);
    const at::Tensor pack = module->forward(x.reshape({1, 51, 16}), {.cu_seqlens = at::tensor({0, 17, 34, 51})});
    EXPECT_TRUE(close(pack.view({3, 17, 16}), whole, bound));
    State state = module->begin(3);
    std::vector<at::Tensor> parts;
    int64_t at = 0;
    for (const int64_t size : {4, 1, 9, 3})
      parts.push_back(module->extend(state, x.narrow(1, std::exchange(at, at + size), size)));
    EXPECT_TRUE(close(at::cat(parts, 1), whole, bound));

    const std::string rule = "lavo: the ablation memory=swap needs ";
    expect_input_error([&] { module->forward(x.narrow(0, 0, 1), {.cu_seqlens = at::tensor({0, 5, 17})}); },
                       rule + "at least 2 streams of one length, got 2 of different lengths");
    State uneven = State::stack({state.select(at::tensor({0}, at::kLong)), module->begin(1)});
    expect_input_error([&] { module->extend(uneven, x.narrow(0, 0, 2)); },
                       rule + "streams of one length, got a state of different ones");
  }
}

}  // namespace
}  // namespace longspan::nn
