#include "longspan/report/training_page.h"

#include <gtest/gtest.h>

#include "count.h"

namespace longspan::report {
namespace {

TrainingRun run() {
  TrainingRun run;
  run.name = "models/<a>";
  run.step = 30;
  run.steps = 100;
  run.seconds_left = 125;
  run.written = "2026-01-02 03:04:05 UTC";
  run.checkpoint = 20;
  for (int step = 1; step <= 30; ++step) {
    run.loss.add(step, 8.0 / step);
    run.gradient_norm.add(step, 1.0);
    run.learning_rate.add(step, 1e-3);
    run.tokens_per_second.add(step, 2000);
  }
  run.validation = {{10, 1.0}, {20, 1.25}};
  run.sessions = {{0, "longspan train data --out m", "data: 10 tokens"},
                  {15, "longspan train other --out m --resume", "other: 20 tokens"}};
  run.options = {{"train", {{"steps", 100}}}};
  run.resume = "longspan train other --resume --out m";
  run.extend = "longspan train other --resume --steps 200 --out m";
  return run;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TrainingPage, ARunAtWorkSaysHowFarItIsAndLoadsItselfAgain) {
  const std::string html = training_page(run()).html();
  EXPECT_TRUE(contains(html, "http-equiv=\"refresh\" content=\"15\""));
  EXPECT_TRUE(contains(html, "Running when this page was written: step 30 of 100 (30 %), about 2 min 05 s left."));
  EXPECT_TRUE(contains(html, "validation at 1.250; its best was 1.000 at step 10."));
  EXPECT_TRUE(contains(html, "models/&lt;a&gt;"));
  EXPECT_TRUE(contains(html, "train.steps"));
  EXPECT_TRUE(contains(html, "longspan train other --resume --out m"));
  EXPECT_FALSE(contains(html, "--steps 200"));
  EXPECT_TRUE(contains(html, ">resumed<"));
  EXPECT_EQ(count(html, "<svg"), 5) << "the loss in two sizes, three small charts";
  EXPECT_FALSE(contains(html, "A sample"));
}

TEST(TrainingPage, ARunThatEndedStaysAsItIs) {
  TrainingRun done = run();
  done.status = TrainingRun::Status::done;
  done.prompt = "Once";
  done.sample = "upon";
  const std::string html = training_page(done).html();
  EXPECT_FALSE(contains(html, "refresh"));
  EXPECT_TRUE(contains(html, "Finished: 100 steps."));
  EXPECT_TRUE(contains(html, "upon"));
  EXPECT_TRUE(contains(html, "longspan train other --resume --steps 200 --out m"));
  EXPECT_FALSE(contains(html, "longspan train other --resume --out m")) << "there is nothing left to go on with";
  done.status = TrainingRun::Status::stopped;
  EXPECT_TRUE(contains(training_page(done).html(), "--resume goes on from the checkpoint of step 20."));
  done.status = TrainingRun::Status::failed;
  done.checkpoint = 0;
  EXPECT_TRUE(
      contains(training_page(done).html(), "Ended by an error after step 30 of 100. There is no checkpoint yet."));
}

TEST(TrainingPage, EverySessionIsTold) {
  TrainingRun several = run();
  several.sessions.push_back({25, "longspan train other --out m --resume --steps 100", "other: 20 tokens"});
  const std::string html = training_page(several).html();
  for (const char* part :
       {"This run:", "This run from step 15 on:", "This run from step 25 on:", "longspan train data --out m<",
        "longspan train other --out m --resume<", "data: 10 tokens", "Data from step 15 on"})
    EXPECT_TRUE(contains(html, part)) << part;
  EXPECT_FALSE(contains(html, "Data from step 25 on")) << "they are the same";
}

TEST(TrainingPage, NothingMeasuredYet) {
  TrainingRun empty;
  const std::string html = training_page(empty).html();
  EXPECT_TRUE(contains(html, "no data"));
  EXPECT_FALSE(contains(html, "nan"));
}

}  // namespace
}  // namespace longspan::report
