// Streams together equal streams alone.
#include "longspan/models/stream_batch.h"

#include <gtest/gtest.h>

#include "longspan/base/rng.h"
#include "longspan/nn/registry.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

struct BatchCase {
  std::string attention;
  FieldValues options;
  friend void PrintTo(const BatchCase& c, std::ostream* out) {
    *out << c.attention;
    for (const auto& [field, value] : c.options) *out << " " << field << "=" << longspan::to_string(value);
  }
};

std::vector<BatchCase> cases() {
  std::vector<BatchCase> out;
  for (const auto& entry : nn::attentions())
    if (entry.streaming)
      for (const auto& options : nn::harness_configurations(entry, nn::Pattern::causal_self))
        out.push_back({entry.name, options});
  return out;
}

ModelConfig config_of(const BatchCase& c) {
  ModelConfig config = small_config(c.attention);
  config.attention_options = c.options;
  config.vocabulary = 64;
  return config;
}

/// What a stream does: joins at a step, then reads so many tokens at each of its steps (0: rests), leaves at the end.
struct Script {
  int64_t joins = 0;
  std::vector<int64_t> reads;
};

const std::vector<Script> kScripts = {{0, {5, 1, 1, 9, 0, 1, 1, 3}},
                                      {0, {5, 1, 1, 2, 4, 0, 1}},
                                      {1, {300, 1, 0, 0, 1, 1, 7}},
                                      {4, {2, 1, 1, 1, 260}},
                                      {5, {1}}};

std::vector<int64_t> tokens_of(int64_t stream) {
  const at::Tensor tokens = random_tokens(1, 320, 64, 100 + stream);
  return {tokens.const_data_ptr<int64_t>(), tokens.const_data_ptr<int64_t>() + tokens.numel()};
}

/// Runs the scripts together; the hidden states of every stream, and its state when it left.
struct Outcome {
  std::vector<at::Tensor> hidden;
  std::vector<ModelState> left;
};

Outcome together(LanguageModel& model) {
  StreamBatch batch;
  std::vector<StreamBatch::Id> ids(kScripts.size(), -1);
  std::vector<std::size_t> at(kScripts.size(), 0);
  std::vector<std::vector<at::Tensor>> parts(kScripts.size());
  Outcome out;
  out.left.resize(kScripts.size());
  std::vector<std::vector<int64_t>> texts;
  for (std::size_t s = 0; s < kScripts.size(); ++s) texts.push_back(tokens_of(static_cast<int64_t>(s)));
  for (int64_t step = 0; step < 12; ++step) {
    std::vector<StreamBatch::Input> inputs;
    std::vector<std::size_t> who;
    // The order of the inputs is not that of the rows.
    for (std::size_t r = kScripts.size(); r-- > 0;) {
      const auto& [joins, reads] = kScripts[r];
      const auto turn = static_cast<std::size_t>(step - joins);
      if (step == joins) ids[r] = batch.add(model.begin(1));
      if (step < joins || turn > reads.size()) continue;
      if (turn == reads.size()) {
        EXPECT_EQ(batch.position(ids[r]), static_cast<int64_t>(at[r]));
        out.left[r] = batch.remove(ids[r]);
        EXPECT_FALSE(batch.contains(ids[r]));
        continue;
      }
      const auto size = static_cast<std::size_t>(reads[turn]);
      inputs.push_back({ids[r], std::span<const int64_t>(texts[r]).subspan(at[r], size)});
      who.push_back(r);
      at[r] += size;
    }
    const auto hidden = batch.step(model, inputs);
    for (std::size_t i = 0; i < who.size(); ++i) parts[who[i]].push_back(hidden[i]);
  }
  EXPECT_EQ(batch.size(), 0);
  for (const auto& part : parts) out.hidden.push_back(at::cat(part));
  return out;
}

/// The same scripts, each stream by itself.
Outcome alone(LanguageModel& model) {
  Outcome out;
  c10::InferenceMode inference;
  for (std::size_t s = 0; s < kScripts.size(); ++s) {
    const at::Tensor tokens = torch::tensor(tokens_of(static_cast<int64_t>(s))).unsqueeze(0);
    ModelState state = model.begin(1);
    std::vector<at::Tensor> parts;
    int64_t at = 0;
    for (const int64_t size : kScripts[s].reads) {
      parts.push_back(model.extend(state, tokens.narrow(1, at, size))[0]);
      at += size;
    }
    out.hidden.push_back(at::cat(parts));
    out.left.push_back(state);
  }
  return out;
}

class StreamBatches : public ::testing::TestWithParam<BatchCase> {};
INSTANTIATE_TEST_SUITE_P(All, StreamBatches, ::testing::ValuesIn(cases()));

TEST_P(StreamBatches, EqualStreamsAlone) {
  const auto model = small_model(config_of(GetParam()));
  const Outcome both = together(*model), each = alone(*model);
  const bool float32 =
      nn::make_attention(GetParam().attention, nn::Pattern::causal_self, {.width = 16, .heads = 2}, GetParam().options)
          ->properties()
          .float32_sums;
  const double coarser = float32 ? testing::unit_roundoff<float>() / testing::unit_roundoff<double>() : 1;
  for (std::size_t s = 0; s < kScripts.size(); ++s) {
    const double largest = each.hidden[s].abs().max().item<double>();
    EXPECT_CLOSE(both.hidden[s], each.hidden[s], coarser * hidden_bound(model->config(), 320, largest));
    EXPECT_TRUE(both.left[s].positions.equal(each.left[s].positions));
  }
}

/// Projections that only move numbers, and no feed-forward: matrix products are then exact in any order, and what is
/// left of a layer is the attention itself with its state.
void make_products_exact(LanguageModel& model) {
  torch::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    at::Tensor& parameter = item.value();
    const std::string& name = item.key();
    const bool projection = name.find(".attention.") != std::string::npos && parameter.dim() == 2 &&
                            parameter.size(0) == 16 && parameter.size(1) == 16 && name.ends_with(".weight");
    if (projection)
      parameter.copy_(torch::eye(16));
    else if (name.find("feed_forward") != std::string::npos && name.find("norm") == std::string::npos)
      parameter.zero_();
  }
}

/// A stream that was in company may have room for as many rows as its oldest mate, zeros behind its own.
bool same_but_for_zeros(at::Tensor in_company, const at::Tensor& alone) {
  for (int64_t dim = 0; dim < alone.dim(); ++dim) {
    const int64_t own = alone.size(dim), all = in_company.size(dim);
    if (all < own || in_company.narrow(dim, own, all - own).count_nonzero().item<int64_t>() > 0) return false;
    in_company = in_company.narrow(dim, 0, own);
  }
  return in_company.equal(alone);
}

// float32, where another order of sums would show at once.
TEST_P(StreamBatches, AreBitwiseWhereTheAttentionIs) {
  torch::manual_seed(4);
  LanguageModel model(config_of(GetParam()));
  model.eval();
  const auto attention =
      nn::make_attention(GetParam().attention, nn::Pattern::causal_self, {.width = 16, .heads = 2}, GetParam().options);
  if (!attention->properties().bitwise) GTEST_SKIP() << "the attention does not say that it is";
  make_products_exact(model);
  const Outcome both = together(model), each = alone(model);
  for (std::size_t s = 0; s < kScripts.size(); ++s) {
    EXPECT_TRUE(both.hidden[s].equal(each.hidden[s])) << "stream " << s;
    for (std::size_t layer = 0; layer < each.left[s].layers.size(); ++layer)
      for (const auto& [name, tensor] : each.left[s].layers[layer].tensors())
        EXPECT_TRUE(same_but_for_zeros(both.left[s].layers[layer].at(name), tensor)) << "stream " << s << ", " << name;
  }
}

TEST(StreamBatch, IsAValue) {
  const auto model = small_model(small_config());
  StreamBatch batch;
  const auto a = batch.add(model->begin(1)), b = batch.add(model->begin(1));
  const std::vector<int64_t> text = {1, 2, 3};
  batch.step(*model, {{a, text}, {b, std::span(text).first(1)}});
  StreamBatch copy = batch;
  const std::vector<int64_t> more = {4, 5};
  const auto first = batch.step(*model, {{b, more}, {a, more}});
  batch.remove(a);
  const auto again = copy.step(*model, {{b, more}, {a, more}});
  EXPECT_TRUE(again[0].equal(first[0]) && again[1].equal(first[1]));
  EXPECT_EQ(copy.position(a), 5);
  EXPECT_EQ(copy.size(), 2);
  EXPECT_EQ(batch.size(), 1);
  EXPECT_GT(copy.bytes(), batch.bytes());
}

TEST(StreamBatch, RefusesWithoutReading) {
  const auto model = small_model(small_config());
  StreamBatch batch;
  const auto a = batch.add(model->begin(1));
  const std::vector<int64_t> good = {1}, wrong = {1, 11};
  EXPECT_EQ(error_of([&] { batch.add(model->begin(2)); }),
            "stream batch: a state that joins must hold one stream, got 2");
  EXPECT_EQ(error_of([&] { batch.step(*model, {{a, good}, {7, good}}); }), "stream batch: there is no stream 7");
  EXPECT_EQ(error_of([&] {
              batch.step(*model, {{a, good}, {a, good}});
            }),
            "stream batch: stream 0 stands twice in one step");
  EXPECT_EQ(error_of([&] { batch.step(*model, {{a, wrong}}); }), "stream batch: tokens must be from 0 to 10, got 11");
  EXPECT_EQ(error_of([&] { batch.remove(1); }), "stream batch: there is no stream 1");
  EXPECT_EQ(batch.position(a), 0);
  EXPECT_EQ(batch.step(*model, {}).size(), 0u);
  EXPECT_EQ(batch.step(*model, {{a, {}}})[0].sizes(), at::IntArrayRef({0, 16}));
}

}  // namespace
}  // namespace longspan::models
