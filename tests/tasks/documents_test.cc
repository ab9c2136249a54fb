// Documents longer than a sequence: what is read of them, what is learnt, and where answers stand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "longspan/tasks/losses.h"
#include "longspan/tasks/predictions.h"
#include "tests/io/scratch_folder.h"
#include "tests/models/small_models.h"
#include "tests/tasks/small_tasks.h"
#include "tests/train/small_runs.h"

namespace longspan::tasks {
namespace {

using models::HeadKind;
using ::testing::ElementsAre;

SequenceOptions windows_of(HeadKind kind, int64_t length, int64_t stride = 0) {
  SequenceOptions options = sequence_options(kind, length);
  options.windows = true;
  options.stride = stride;
  return options;
}

/// "q" and a context of which 8 bytes fit beside it.
ExampleSet question(const std::string& context, std::vector<AnswerSpan> answers, int64_t stride = 0) {
  ExampleSet set;
  add_record(set, windows_of(HeadKind::question, 13, stride),
             QuestionRecord{"q", context, std::move(answers), place(1)});
  return set;
}

models::HeadConfig question_head(bool may_be_empty = false) {
  models::HeadConfig head;
  head.kind = HeadKind::question;
  head.may_be_empty = may_be_empty;
  return head;
}

Batch batch_of(const ExampleSet& set, const models::HeadConfig& head, const BatchOptions& options = {},
               uint64_t step = 0) {
  std::vector<int64_t> all(static_cast<std::size_t>(set.size()));
  std::iota(all.begin(), all.end(), 0);
  return make_batch(set, all, head, byte_encoder(), options, {1, step, 0});
}

TEST(Documents, AreReadInWindowsBehindTheQuestion) {
  const ExampleSet set = question("0123456789ab", {{3, 5}, {7, 9}});
  ASSERT_EQ(set.size(), 1);
  EXPECT_EQ(set.windowed, 1);
  EXPECT_EQ(set.truncated, 0);
  const auto& windows = set.examples[0].windows;
  ASSERT_EQ(windows.size(), 2u);
  for (const Sequence& window : windows) {
    EXPECT_EQ(window.context, (TokenSpan{4, 12}));
    EXPECT_THAT(std::vector(window.tokens.begin(), window.tokens.begin() + 4), ElementsAre(256, 'q', 257, 257));
    EXPECT_EQ(window.tokens.back(), 257);
  }
  EXPECT_EQ(windows[1].tokens[4], '4');
  EXPECT_EQ(windows[1].offsets.front(), 4);
  EXPECT_EQ(windows[1].offsets.back(), 12);
  EXPECT_THAT(windows[0].answers, ElementsAre(HeldAnswer{0, {7, 9}}));  // of the other one the end is missing
  EXPECT_THAT(windows[1].answers, ElementsAre(HeldAnswer{1, {7, 9}}));
  EXPECT_THAT(set.examples[0].answering(LearnAnswers::first), ElementsAre(0));
  EXPECT_THAT(set.examples[0].answering(LearnAnswers::all), ElementsAre(0, 1));
}

TEST(Documents, ThatFitAreReadAsEver) {
  for (const HeadKind kind : {HeadKind::classification, HeadKind::question, HeadKind::choice}) {
    ExampleSet cut, windows;
    for (ExampleSet* set : {&cut, &windows}) {
      auto options = sequence_options(kind, 40);
      options.windows = set == &windows;
      if (kind == HeadKind::classification) add_record(*set, options, TextRecord{"some text", {"x"}, place(1)});
      if (kind == HeadKind::question) add_record(*set, options, QuestionRecord{"q", "some text", {{5, 9}}, place(1)});
      if (kind == HeadKind::choice) add_record(*set, options, ChoiceRecord{"q", "some text", {"a", "b"}, 1, place(1)});
    }
    ASSERT_EQ(windows.examples[0].windows.size(), 1u);
    const Sequence &a = cut.examples[0].windows[0], &b = windows.examples[0].windows[0];
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.context, b.context);
    EXPECT_EQ(a.offsets, b.offsets);
    EXPECT_EQ(a.answers, b.answers);
    EXPECT_EQ(a.candidates, b.candidates);
    EXPECT_EQ(windows.windowed, 0);
  }
}

TEST(Documents, AnAnswerLongerThanTheOverlapMayBeLost) {
  EXPECT_EQ(question("0123456789abcdef", {{6, 11}}).lost_answers, 0);     // windows 0-8, 4-12, 8-16
  EXPECT_EQ(question("0123456789abcdef", {{6, 11}}, 8).lost_answers, 1);  // 0-8, 8-16
}

TEST(Documents, EveryTokenKnowsItsBytes) {
  const Pairs tokenizer;
  auto options = windows_of(HeadKind::question, 13, 3);
  options.tokenizer = &tokenizer;
  ExampleSet set;
  const std::string context = "The quick brown fox jumps.";
  add_record(set, options, QuestionRecord{"q", context, {{10, 15}}, place(1)});
  for (const Sequence& window : set.examples[0].windows)
    for (int64_t token = window.context.begin; token < window.context.end; ++token) {
      const AnswerSpan bytes = answer_bytes(window, context, {token, token + 1});
      const auto at = static_cast<std::size_t>(token - window.context.begin);
      if (bytes.begin == bytes.end) continue;  // a blank
      EXPECT_EQ(context[static_cast<std::size_t>(window.offsets[at])],
                static_cast<char>(window.tokens[static_cast<std::size_t>(token)]));
    }
  EXPECT_EQ(set.lost_answers, 0);
}

/// Scores that are 0 but for some rows of the two columns.
at::Tensor scores_with(const Batch& batch, std::vector<std::array<double, 3>> rows) {
  at::Tensor scores = at::zeros({batch.pack.tokens.size(1), 2}, at::kDouble);
  for (const auto& [row, column, value] : rows) scores[static_cast<int64_t>(row)][static_cast<int64_t>(column)] = value;
  return scores;
}

TEST(Documents, TheBestSpanOfAllWindowsIsTheAnswer) {
  // Bytes as tokens, and characters of two and three bytes before and inside of the answer.
  const std::string context = "\xC3\xA9 x \xE2\x82\xAC\xE2\x82\xAC 12\xC3\xA9 y";
  const ExampleSet set = question(context, {});
  const models::HeadConfig head = question_head();
  const Batch batch = batch_of(set, head);
  ASSERT_EQ(set.examples[0].windows.size(), 4u);  // bytes 0-8, 4-12, 8-16, 10-18
  // In the last window: from the third byte of a euro sign to the first one of the é.
  const int64_t row = 3 * 13 + 4;
  const at::Tensor scores =
      scores_with(batch, {{static_cast<double>(row), 0, 9}, {static_cast<double>(row + 4), 1, 9}});
  AnswerOptions options;
  options.best = 3;
  const Prediction prediction = predictions(head, set, batch, scores, options).front();
  EXPECT_EQ(prediction.answer.text, "\xE2\x82\xAC 12\xC3\xA9");
  EXPECT_EQ(prediction.answer.bytes, (AnswerSpan{8, 16}));
  EXPECT_EQ(prediction.answer.characters, (AnswerSpan{5, 10}));
  EXPECT_FALSE(prediction.no_answer_score);
  ASSERT_EQ(prediction.best.size(), 3u);
  EXPECT_GT(prediction.best[0].score, prediction.best[1].score);
  // All windows share one distribution: of 32 places one is e^9 times as likely as another.
  const double z = std::log(31 + std::exp(9.0));
  EXPECT_NEAR(prediction.answer.score, 2 * (9 - z), testing::sum_bound<double>(32) * 10);
}

TEST(Documents, NoAnswerIsWeighedAgainstTheBest) {
  const ExampleSet set = question("0123456789ab", {});
  const models::HeadConfig head = question_head(true);
  const Batch batch = batch_of(set, head);
  ASSERT_EQ(batch.answers[0].first_rows, (std::vector<int64_t>{0, 13}));
  // The empty answer has the mean of the first tokens' scores: 2 for the beginning and 0 for the end; the best span 3.
  const at::Tensor scores = scores_with(batch, {{0, 0, 4}, {13 + 5, 0, 1}, {13 + 6, 1, 2}});
  const auto predicted = [&](double threshold) {
    AnswerOptions options;
    options.threshold = threshold;
    return predictions(head, set, batch, scores, options).front();
  };
  EXPECT_NEAR(*predicted(0).no_answer_score, -1, testing::sum_bound<double>(30) * 10);
  EXPECT_EQ(predicted(0).answer.text, "56");
  EXPECT_EQ(predicted(0).answer.bytes, (AnswerSpan{5, 7}));
  EXPECT_EQ(predicted(-1.5).answer.text, "");
  EXPECT_EQ(predicted(-1.5).best.front().text, "56");
}

TEST(Documents, TheLossIsThatOfAllWindowsTogether) {
  const ExampleSet set = question("0123456789ab", {{5, 7}, {9, 11}});  // in both windows, and in the second
  torch::manual_seed(1);
  for (const bool may_be_empty : {false, true}) {
    const models::HeadConfig head = question_head(may_be_empty);
    for (const LearnAnswers learn : {LearnAnswers::first, LearnAnswers::all}) {
      BatchOptions options;
      options.learn_answers = learn;
      const Batch batch = batch_of(set, head, options);
      const at::Tensor scores = torch::randn({26, 2}, torch::kDouble), e = scores.exp();
      double expected = 0;
      for (int64_t column = 0; column < 2; ++column) {
        const auto row = [&](int64_t r) { return e[r][column].item<double>(); };
        double all = may_be_empty ? std::exp((scores[0][column] + scores[13][column]).item<double>() / 2) : 0;
        for (int64_t r = 4; r < 12; ++r) all += row(r) + row(13 + r);
        double right = row(4 + 5 + column) + row(13 + 4 + 1 + column);
        if (learn == LearnAnswers::all) right += row(13 + 4 + 5 + column);
        expected -= std::log(right / all) / 2;
      }
      EXPECT_NEAR(losses(head, batch, scores).item<double>(), expected, testing::sum_bound<double>(60) * 10);
    }
  }
}

TEST(Documents, AStepReadsTheAnswerAndSomeOtherWindows) {
  const std::string context(200, 'x');
  const ExampleSet set = question(context, {{100, 103}});
  const auto answering = set.examples[0].answering(LearnAnswers::first);
  const models::HeadConfig head = question_head();
  BatchOptions options;
  options.train_windows = 3;
  std::set<std::vector<int64_t>> read;
  for (uint64_t step = 1; step <= 20; ++step) {
    const Batch batch = batch_of(set, head, options, step);
    EXPECT_EQ(batch.sequences(), 3);
    EXPECT_FALSE(batch.answers[0].begins.empty());
    EXPECT_EQ(batch.targets_in_loss, 1);
    EXPECT_EQ(batch.read, batch_of(set, head, options, step).read);
    read.insert(batch.read);
  }
  EXPECT_GT(read.size(), 15u);
  EXPECT_EQ(batch_of(set, head).sequences(), set.sequences());
}

TEST(Documents, WhereOnlyTheWordsOfAnAnswerAreKnownNothingIsLearnt) {
  ExampleSet set = question("0123456789ab", {});
  EXPECT_TRUE(batch_of(set, question_head(true)).answers[0].empty_is_right);
  set.questions[0].aliases = {"elsewhere"};
  EXPECT_EQ(batch_of(set, question_head(true)).targets_in_loss, 0);
  EXPECT_FALSE(head_for(set, {}).may_be_empty);
  EXPECT_EQ(drop_lost_answers(set), 1);
}

TEST(Documents, LabelsHaveTheMeanOfTheWindows) {
  ExampleSet set;
  const auto options = windows_of(HeadKind::classification, 8, 6);
  add_record(set, options, TextRecord{"0123456789abc", {"a"}, place(1)});
  add_record(set, options, TextRecord{"01", {"b"}, place(2)});
  number_labels(set, {"a", "b"});
  const models::HeadConfig head = head_for(set, {});
  const Batch batch = batch_of(set, head);
  ASSERT_THAT(batch.borders, ElementsAre(0, 3, 4));
  const at::Tensor scores = torch::tensor({{1.0, 2.0}, {3.0, 0.0}, {5.0, 1.0}, {7.0, 8.0}}, torch::kDouble);
  const at::Tensor mean = torch::tensor({{3.0, 1.0}, {7.0, 8.0}}, torch::kDouble);
  EXPECT_TRUE(label_scores(batch, scores).equal(mean));
  const double expected[] = {std::log1p(std::exp(-2.0)), std::log1p(std::exp(-1.0))};
  const at::Tensor loss = losses(head, batch, scores);
  for (int64_t i = 0; i < 2; ++i) EXPECT_NEAR(loss[i].item<double>(), expected[i], testing::sum_bound<double>(10) * 8);
  EXPECT_THAT(predictions(head, set, batch, scores)[0].labels, ElementsAre(0));
}

TEST(Documents, CandidatesHaveTheMeanOfTheWindows) {
  ExampleSet set;
  auto options = windows_of(HeadKind::choice, 20, 10);
  add_record(set, options, ChoiceRecord{"q", "0123456789abcdef", {"x", "yy"}, 1, place(1)});
  add_record(set, options, ChoiceRecord{"q", "01", {"x", "y", "z"}, 0, place(2)});
  const auto& windows = set.examples[0].windows;
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_THAT(std::vector(windows[0].tokens.begin(), windows[0].tokens.begin() + 10),
              ElementsAre(256, 'q', 257, 257, 'x', 257, 'y', 'y', 257, 257));
  EXPECT_THAT(windows[1].candidates, ElementsAre(5, 8));
  models::HeadConfig head;
  head.kind = HeadKind::choice;
  head.global_tokens = models::GlobalTokens::task;
  const Batch batch = batch_of(set, head);
  EXPECT_EQ(batch.places.size(0), 2 * 2 + 3);
  EXPECT_EQ(batch.pack.tokens[0].index_select(0, batch.places).eq(257).sum().item<int64_t>(), 7);
  EXPECT_EQ(batch.pack.global_tokens->sum().item<int64_t>(), 10 + 10 + 11);
  // The second window and the other example by themselves: 20 tokens, then candidates behind tokens 5, 7 and 9.
  const Batch part = part_of(batch, 1, 3);
  EXPECT_TRUE(part.places.equal(torch::tensor({5, 8, 20 + 5, 20 + 7, 20 + 9}, torch::kLong)));
  EXPECT_TRUE(part.pack.cu_seqlens.equal(batch.pack.cu_seqlens.narrow(0, 1, 3) - 20));
  const at::Tensor scores = torch::tensor({1.0, 2.0, 3.0, 6.0, 0.0, 5.0, 0.0}, torch::kDouble);
  EXPECT_TRUE(candidate_scores(batch, scores, 0).equal(torch::tensor({2.0, 4.0}, torch::kDouble)));
  EXPECT_NEAR(losses(head, batch, scores)[0].item<double>(), std::log1p(std::exp(-2.0)),
              testing::sum_bound<double>(20));
  const auto predicted = predictions(head, set, batch, scores);
  EXPECT_THAT(predicted[0].labels, ElementsAre(1));
  EXPECT_THAT(predicted[1].labels, ElementsAre(1));
  EXPECT_EQ(
      error_of([&] {
        add_record(set, options, ChoiceRecord{"q", "0", {"123456", "1234567"}, 0, place(3)});
      }),
      "data.jsonl:3: the question and its 2 candidates have 20 tokens, and of a sequence of 20 at least an eighth "
      "must be left to the context; give a greater length");
}

/// Digits among many letters, to be found through windows of which only one or two show them.
ExampleSet far_digits(int64_t count, uint64_t seed, bool empty = false) {
  ExampleSet set;
  Rng rng(seed);
  for (int64_t i = 0; i < count; ++i) {
    QuestionRecord record{"?", random_letters(rng, 90, "abcdef "), {}, place(i + 1)};
    if (!empty || rng.below(4) > 0) {
      const auto at = static_cast<int64_t>(rng.below(87));
      record.context.replace(static_cast<std::size_t>(at), 3, random_letters(rng, 3, "0123456789"));
      record.answers = {{at, at + 3}};
    }
    add_record(set, windows_of(HeadKind::question, 40), std::move(record));
  }
  return set;
}

TEST(Documents, AreLearntAndMeasuredInWindows) {
  const ExampleSet train = far_digits(300, 1), valid = far_digits(60, 2);
  EXPECT_EQ(train.windowed, 300);
  TaskOptions options = small_task(150);
  options.train.length = 40;
  options.windows.train_windows = 2;
  TaskTrainer trainer(make_model(byte_encoder(), head_for(train, {}), 0), train, &valid, options);
  train::Log log;
  trainer.run(log);
  EXPECT_GT(metric(log.validations.back(), "exact_match"), 0.1);  // by chance 1 of 88, with a spread of 0.014
  EXPECT_EQ(metric(log.validations.back(), "exact_match"), metric(log.validations.back(), "triviaqa_exact_match"));
}

TEST(Documents, ManyWindowsAreReadAFewAtATime) {
  for (const HeadKind kind : {HeadKind::question, HeadKind::choice, HeadKind::classification}) {
    ExampleSet set;
    Rng rng(1);
    const auto options = windows_of(kind, 64);
    const std::string text = random_letters(rng, 5000, "abc");
    if (kind == HeadKind::question) add_record(set, options, QuestionRecord{"?", text, {{2500, 2503}}, place(1)});
    if (kind == HeadKind::choice) add_record(set, options, ChoiceRecord{"?", text, {"a", "b"}, 0, place(1)});
    if (kind == HeadKind::classification) {
      add_record(set, options, TextRecord{text, {"x"}, place(1)});
      add_record(set, options, TextRecord{"short", {"y"}, place(2)});
      number_labels(set, {"x", "y"});
    }
    ASSERT_GT(set.tokens(), 1 << 13);
    auto model = make_model(byte_encoder(), head_for(set, {}), 3);
    model->to(torch::kDouble);
    const Evaluation evaluation = evaluate(*model, set, {});
    EXPECT_EQ(evaluation.sequences, set.sequences());
    EXPECT_EQ(evaluation.tokens, set.tokens());
    torch::NoGradGuard no_grad;
    model->eval();
    const Batch batch = batch_of(set, model->head_config());
    const double whole = losses(*model, batch, model->hidden(batch.pack), 0, 0, 0).mean().item<double>();
    EXPECT_NEAR(evaluation.loss, whole, testing::sum_bound<double>(5000) * (1 + whole)) << to_string(kind);
  }
}

}  // namespace
}  // namespace longspan::tasks
