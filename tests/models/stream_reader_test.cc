// However a stream is cut, its scores are the same bits.
#include "longspan/models/stream_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "longspan/base/rng.h"
#include "longspan/nn/registry.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

std::vector<int64_t> tokens_of(const at::Tensor& tokens) {
  return {tokens.const_data_ptr<int64_t>(), tokens.const_data_ptr<int64_t>() + tokens.numel()};
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// NaN equals NaN, everything else only itself.
void expect_same_bits(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i])))
        << "token " << i << ": " << actual[i] << " and " << expected[i];
}

std::vector<double> read_whole(LanguageModel& model, const std::vector<int64_t>& tokens) {
  Session session = begin_session(model);
  StreamReader reader(model, session);
  std::vector<double> scores = reader.read(tokens);
  append(scores, reader.flush());
  return scores;
}

class StreamReaders : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> streaming_attentions() {
  std::vector<std::string> names;
  for (const auto& entry : nn::attentions())
    if (entry.streaming) names.push_back(entry.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, StreamReaders, ::testing::ValuesIn(streaming_attentions()),
                         [](const auto& info) { return info.param; });

TEST_P(StreamReaders, NoCutChangesABit) {
  // float32, where sums in another order would show at once.
  torch::manual_seed(3);
  LanguageModel model(small_config(GetParam()));
  model.eval();
  const std::vector<int64_t> tokens = tokens_of(random_tokens(1, 3 * kStreamPiece + 77));
  const std::vector<double> whole = read_whole(model, tokens);
  ASSERT_EQ(whole.size(), tokens.size());

  Rng random(1, 2);
  for (int round = 0; round < 3; ++round) {
    Session session = begin_session(model);
    std::vector<double> scores;
    for (std::span<const int64_t> left = tokens; !left.empty();) {
      StreamReader reader(model, session);  // a new one each time, as after loading
      const auto size = std::min<std::size_t>(left.size(), 1 + random.below(2 * kStreamPiece));
      append(scores, reader.read(left.first(size)));
      if (random.below(2) == 0) append(scores, reader.flush());
      append(scores, reader.flush());
      EXPECT_EQ(reader.waiting(), 0);
      left = left.subspan(size);
    }
    expect_same_bits(scores, whole);
    EXPECT_EQ(session.tokens(), static_cast<int64_t>(tokens.size()));
    EXPECT_EQ(session.state.positions.item<int64_t>(), 3 * kStreamPiece);
  }
}

TEST_P(StreamReaders, ScoresAreTheModels) {
  const auto model = small_model(small_config(GetParam()));
  const at::Tensor tokens = random_tokens(1, kStreamPiece + 50);
  const at::Tensor nll = model->nll(tokens)[0].detach().contiguous();
  const std::vector<double> scores = read_whole(*model, tokens_of(tokens));
  EXPECT_TRUE(std::isnan(scores.front())) << "nothing predicts the first token";
  const auto largest = model->hidden(tokens).abs().max().item<double>();
  // A logit sums E products of hidden states and weights, the loss two such.
  const double norm = model->weights().at("embedding").abs().sum(1).max().item<double>();
  const double bound = 4 * norm * hidden_bound(model->config(), tokens.size(1), std::max(1.0, largest));
  const auto result =
      testing::within(scores.data() + 1, nll.const_data_ptr<double>(), static_cast<int64_t>(scores.size()) - 1, bound);
  EXPECT_TRUE(result.ok) << result.message;
}

TEST_P(StreamReaders, GoesOnAfterDrawnTokens) {
  const auto model = small_model(small_config(GetParam()));
  const std::vector<int64_t> tokens = tokens_of(random_tokens(1, 2 * kStreamPiece));
  const std::span<const int64_t> all(tokens);
  const std::vector<double> whole = read_whole(*model, tokens);
  Session session = begin_session(*model);
  StreamReader(*model, session).read(all.first(100));
  read_pending(*model, session);  // as generate() does: the state stands in the middle of a piece
  session.append(all.subspan(100, 1));
  StreamReader reader(*model, session);
  EXPECT_EQ(reader.waiting(), 0);
  EXPECT_EQ(reader.room(), kStreamPiece - 101);
  std::vector<double> scores = reader.read(all.subspan(101));
  ASSERT_EQ(scores.size(), tokens.size() - 101);
  // Other pieces, so within rounding.
  const double norm = model->weights().at("embedding").abs().sum(1).max().item<double>();
  const double largest = model->hidden(torch::tensor(tokens).unsqueeze(0)).abs().max().item<double>();
  const double bound = 4 * norm * hidden_bound(model->config(), 2 * kStreamPiece, std::max(1.0, largest));
  for (std::size_t i = 0; i < scores.size(); ++i) ASSERT_NEAR(scores[i], whole[i + 101], bound) << i;
}

TEST(StreamReader, NeedsNoMorePositionsThanTokens) {
  ModelConfig config = small_config("local");
  config.positions = Positions::learned;
  config.max_positions = 40;
  const auto model = small_model(config);
  const std::vector<int64_t> tokens = tokens_of(random_tokens(1, 41));
  Session session = begin_session(*model);
  StreamReader reader(*model, session);
  std::vector<double> scores = reader.read(std::span(tokens).first(30));
  append(scores, reader.flush());
  append(scores, reader.read(std::span(tokens).subspan(30, 10)));
  EXPECT_EQ(scores.size(), 40u);
  EXPECT_EQ(error_of([&] { reader.read(std::span(tokens).last(1)); }),
            "language model: learned positions end at max_positions = 40, got position 40");
}

TEST(StreamReader, RefusesWhatItCannotRead) {
  const auto model = small_model(small_config());
  Session session = begin_session(*model);
  StreamReader reader(*model, session);
  const std::vector<int64_t> wrong = {1, 2, 11};
  EXPECT_EQ(error_of([&] { reader.read(wrong); }), "stream reader: tokens must be from 0 to 10, got 11");
  EXPECT_EQ(session.tokens(), 0) << "nothing was read";
  session.state = model->begin(2);
  EXPECT_EQ(error_of([&] { StreamReader(*model, session); }), "stream reader: the session must hold one stream, got 2");
}

// What a stream of 10^15 tokens would do, without reading them: counts beyond 2^31 are only numbers. The sums stay
// those of a mean only where the count says so, hence local attention.
TEST(StreamReader, PositionsBeyond32Bits) {
  const auto model = small_model(small_config("local"));
  const std::vector<int64_t> tokens = tokens_of(random_tokens(1, kStreamPiece + 9));
  Session near = begin_session(*model);
  StreamReader(*model, near).read(std::span(tokens).first(kStreamPiece));
  Session far = near;
  const int64_t start = (int64_t{1} << 42) + kStreamPiece;
  far.state.positions = torch::full({1}, start, torch::kLong);
  for (auto& layer : far.state.layers) layer.set("count", torch::full({1}, start, torch::kLong));
  StreamReader a(*model, near), b(*model, far);
  EXPECT_EQ(b.room(), kStreamPiece);
  a.read(std::span(tokens).last(9));
  b.read(std::span(tokens).last(9));
  expect_same_bits(b.flush(), a.flush());
  EXPECT_EQ(far.tokens(), start + 9);
}

// Nothing of a session grows with the stream.
TEST(StreamReader, ConstantState) {
  for (const char* attention : {"lavo", "local"}) {
    const auto model = small_model(small_config(attention));
    Session session = begin_session(*model);
    StreamReader reader(*model, session);
    const std::vector<int64_t> piece = tokens_of(random_tokens(1, kStreamPiece));
    reader.read(piece);
    const int64_t bytes = session.state.bytes();
    for (int i = 0; i < 40; ++i) {
      reader.read(piece);
      EXPECT_EQ(session.state.bytes(), bytes);
      for (const auto& layer : session.state.layers)
        for (const auto& [name, tensor] : layer.tensors())
          EXPECT_EQ(tensor.storage().nbytes(), tensor.nbytes()) << name << " keeps more alive than it shows";
      EXPECT_EQ(session.last.storage().nbytes(), session.last.nbytes());
    }
    EXPECT_EQ(session.recent.view().size(), static_cast<std::size_t>(kRecentTokens));
    EXPECT_TRUE(session.pending.empty());
  }
}

}  // namespace
}  // namespace longspan::models
