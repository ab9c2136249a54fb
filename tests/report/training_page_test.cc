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
  run.resumed = {15};
  run.options = {{"train", {{"steps", 100}}}};
  run.commands = {{"Go on", "longspan train data --out m --resume"}};
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
  EXPECT_TRUE(contains(html, "longspan train data --out m --resume"));
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
  done.status = TrainingRun::Status::stopped;
  EXPECT_TRUE(contains(training_page(done).html(), "--resume goes on from the checkpoint of step 20."));
  done.status = TrainingRun::Status::failed;
  done.checkpoint = 0;
  EXPECT_TRUE(
      contains(training_page(done).html(), "Ended by an error after step 30 of 100. There is no checkpoint yet."));
}

TEST(TrainingPage, NothingMeasuredYet) {
  TrainingRun empty;
  const std::string html = training_page(empty).html();
  EXPECT_TRUE(contains(html, "no data"));
  EXPECT_FALSE(contains(html, "nan"));
}

}  // namespace
}  // namespace longspan::report
