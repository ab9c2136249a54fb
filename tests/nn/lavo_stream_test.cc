// Every option of LAVO that changes its state, with every other.
#include <limits>
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
            if (std::string(history) != "shared" && std::string(input) == "raw") continue;
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

// Masks depend on the seed and on positions: pieces that start from one seed drop what the whole drops, bit for bit.
TEST(LavoStreams, DropoutDoesNotDependOnTheCut) {
  const at::NoGradGuard no_grad;
  const FieldValues dropout = {{"dropout", 0.4}, {"slot_dropout", 0.3}};
  for (const auto& [update, history] : {std::pair{"token", "shared"},
                                        {"token", "block_causal"},
                                        {"window", "shared"},
                                        {"window", "block_bidirectional"}}) {
    SCOPED_TRACE(str_cat(update, " ", history));
    FieldValues options = small_lavo({{"memory_update", update}, {"history_attention", history}});
    options.insert(dropout.begin(), dropout.end());
    const auto module = make("lavo", Pattern::causal_self, options);
    const at::Tensor x = normal({2, 70, 16}, 1);
    const at::Tensor plain = module->forward(x);
    module->train();
    torch::manual_seed(9);
    const at::Tensor whole = module->forward(x);
    EXPECT_GT((whole - plain).abs().max().item<double>(), 1e-2);
    torch::manual_seed(9);
    const at::Tensor pack = module->forward(x.reshape({1, 140, 16}), {.cu_seqlens = at::tensor({0, 70, 140})});
    EXPECT_TRUE(pack.view({2, 70, 16}).equal(whole)) << "packed";
    State state = module->begin(2);
    std::vector<at::Tensor> parts;
    int64_t at = 0;
    for (const int64_t size : {1, 2, 5, 1, 30, 0, 18, 13}) {
      torch::manual_seed(9);
      parts.push_back(module->extend(state, x.narrow(1, std::exchange(at, at + size), size)));
    }
    EXPECT_TRUE(close(at::cat(parts, 1), whole, layer_bound(*module, x, 70)));

    // Streams of different ages, as a pack with borders: the second one is 7 rows behind.
    State uneven = module->begin(2);
    const at::Tensor valid = at::ones({2, 20}, at::kBool);
    valid.select(0, 1).narrow(0, 0, 7).fill_(false);
    const at::Tensor shifted = at::stack({x[0].narrow(0, 0, 20), x[1].narrow(0, 0, 20).roll(7, 0)});
    torch::manual_seed(9);
    const at::Tensor first = module->extend(uneven, shifted, valid);
    torch::manual_seed(9);
    const at::Tensor second = module->extend(uneven, at::stack({x[0].narrow(0, 20, 9), x[1].narrow(0, 13, 9)}));
    const double bound = layer_bound(*module, x, 70);
    EXPECT_TRUE(close(first[0], whole[0].narrow(0, 0, 20), bound));
    EXPECT_TRUE(close(first[1].narrow(0, 7, 13), whole[1].narrow(0, 0, 13), bound));
    EXPECT_TRUE(close(second[0], whole[0].narrow(0, 20, 9), bound));
    EXPECT_TRUE(close(second[1], whole[1].narrow(0, 13, 9), bound));
  }
}

TEST(LavoStreams, DropoutOfACrossStreamDoesNotDependOnTheCut) {
  const at::NoGradGuard no_grad;
  const auto module = make("lavo", Pattern::causal_cross, {{"r", int64_t{4}}, {"slot_dropout", 0.4}});
  const at::Tensor x = normal({2, 30, 16}, 1), source = normal({2, 9, 16}, 2);
  const at::Tensor plain = module->forward(x, {.source = source});
  module->train();
  torch::manual_seed(9);
  const at::Tensor whole = module->forward(x, {.source = source});
  EXPECT_GT((whole - plain).abs().max().item<double>(), 1e-2);
  State state = module->begin(source);
  std::vector<at::Tensor> parts;
  int64_t at = 0;
  for (const int64_t size : {1, 12, 0, 17}) {
    torch::manual_seed(9);
    parts.push_back(module->extend(state, x.narrow(1, std::exchange(at, at + size), size)));
  }
  EXPECT_TRUE(close(at::cat(parts, 1), whole, layer_bound(*module, x, 30)));
  EXPECT_EQ(state.at("count")[1].item<int64_t>(), 30);
}

TEST(LavoStreams, PositionsDoNotWrap) {
  for (const char* method : {"lavo", "local"}) {
    const bool lavo = method == std::string("lavo");
    const auto module = make(method, Pattern::causal_self, lavo ? small_lavo() : FieldValues{});
    State state = module->begin(2);
    const at::Tensor x = normal({2, 3, 16}, 1);
    const auto start = [&](int64_t count) {
      state = module->begin(2);
      state.set("count", at::full({2}, count, at::kLong));
    };
    constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
    start(kLast - 3);
    EXPECT_TRUE(module->extend(state, x).isfinite().all().item<bool>());
    EXPECT_EQ(state.at("count")[0].item<int64_t>(), kLast);
    start(kLast - 2);
    expect_input_error([&] { module->extend(state, x); },
                       str_cat(method,
                               ": state tensor count must be at most 2^63 - 1 - 3 = 9223372036854775804, so "
                               "that 3 more fit, got 9223372036854775805"));
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
    expect_input_error(
        [&] {
          module->forward(x.narrow(0, 0, 1), {.cu_seqlens = at::tensor({0, 5, 17})});
        },
        rule + "at least 2 streams of one length, got 2 of different lengths");
    State uneven = State::stack({state.select(at::tensor({0}, at::kLong)), module->begin(1)});
    expect_input_error([&] { module->extend(uneven, x.narrow(0, 0, 2)); },
                       rule + "streams of one length, got a state of different ones");
  }
}

}  // namespace
}  // namespace longspan::nn
