#include "longspan/models/generate.h"

#include <gtest/gtest.h>

#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"

namespace longspan::models {
namespace {

const std::vector<int64_t> kPrompt = {3, 1, 4, 1, 5};

TEST(Generate, GreedyTakesTheMostLikelyAtEveryStep) {
  const auto model = small_model(small_config());
  GenerateOptions options;
  options.temperature = 0;
  options.tokens = 12;
  const auto drawn = generate(*model, kPrompt, options);
  ASSERT_EQ(drawn.size(), 12u);
  std::vector<int64_t> text = kPrompt;
  for (int64_t token : drawn) {
    const at::Tensor hidden = model->hidden(torch::tensor(text, torch::kLong).unsqueeze(0));
    EXPECT_EQ(token, model->logits(hidden)[0][hidden.size(1) - 1].argmax().item<int64_t>());
    text.push_back(token);
  }
}

TEST(Generate, SeedsDecide) {
  const auto model = small_model(small_config());
  GenerateOptions options;
  options.tokens = 40;
  options.seed = 5;
  const auto first = generate(*model, kPrompt, options);
  EXPECT_EQ(generate(*model, kPrompt, options), first);
  options.seed = 6;
  EXPECT_NE(generate(*model, kPrompt, options), first);
}

TEST(Generate, CallbackSeesEveryTokenAndCanStop) {
  const auto model = small_model(small_config());
  GenerateOptions options;
  options.tokens = 40;
  std::vector<int64_t> seen;
  const auto drawn = generate(*model, kPrompt, options, [&](int64_t token) {
    seen.push_back(token);
    return seen.size() < 7;
  });
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(drawn, seen);
  options.tokens = 0;
  EXPECT_TRUE(generate(*model, kPrompt, options).empty());
}

TEST(Generate, WrongInputIsRefused) {
  const auto model = small_model(small_config());
  EXPECT_EQ(error_of([&] { generate(*model, {}, {}); }), "generate: the prompt must have at least one token");
  GenerateOptions options;
  options.top_p = 1.5;
  EXPECT_EQ(error_of([&] { generate(*model, kPrompt, options); }),
            "generate: top_p must be a number from 0 to 1, got 1.5");
}

TEST(Generate, TwiceNTokensAreNTokensTwice) {
  for (const char* attention : {"lavo", "lavo_selective", "diffuser", "gated_delta_net", "gla", "local", "softmax"}) {
    SCOPED_TRACE(attention);
    const auto model = small_model(small_config(attention));
    GenerateOptions options;
    options.seed = 3;
    options.tokens = 30;
    options.repetition_penalty = 1.3;
    options.repetition_window = 17;
    const auto whole = generate(*model, kPrompt, options);
    Session session = begin_session(*model);
    session.append(kPrompt);
    options.tokens = 15;
    auto parts = generate(*model, session, options);
    Session copy = session;
    const auto rest = generate(*model, session, options);
    EXPECT_EQ(generate(*model, copy, options), rest) << "a session is a value";
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, whole);
    EXPECT_EQ(session.tokens(), 35);
    EXPECT_EQ(session.seed, 3);
  }
}

TEST(Generate, NothingDrawnReadsNothing) {
  const auto model = small_model(small_config());
  Session session = begin_session(*model);
  GenerateOptions options;
  options.tokens = 0;
  EXPECT_EQ(error_of([&] { generate(*model, session, options); }), "generate: the prompt must have at least one token");
  session.append(kPrompt);
  generate(*model, session, options);
  EXPECT_EQ(session.pending, kPrompt);
}

}  // namespace
}  // namespace longspan::models
