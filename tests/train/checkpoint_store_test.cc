// Which checkpoints of a run are kept, and what stands at the top of its folder.
#include "longspan/train/checkpoint_store.h"

#include <sys/stat.h>

#include <set>

#include "longspan/models/model_files.h"
#include "longspan/text/byte_tokenizer.h"
#include "longspan/train/checkpoint.h"
#include "tests/io/killed.h"
#include "tests/train/small_runs.h"
#include "tests/train/token_files.h"

namespace longspan::train {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<int64_t>;

class Checkpoints : public TokenFiles {
 protected:
  TokenFile train_ = tokens("train", 3000, 1, 256), valid_ = tokens("valid", 200, 2, 256);
  ByteTokenizer bytes_;
  std::string run_ = path("run");

  Trainer trainer(const TrainOptions& options, int64_t seed = 3) {
    return Trainer(make_model(byte_config(), seed), train_, &valid_, options);
  }
  Log run(Trainer& trainer) {
    Log log;
    trainer.run(log, run_, &bytes_);
    return log;
  }
  Steps kept() const {
    Steps out;
    for (const auto& checkpoint : find_checkpoints(run_)) out.insert(out.begin(), checkpoint.step);
    return out;
  }
  std::string identity(const std::string& folder) const { return models::load_model(folder).model->identity(); }
  /// A checkpoint that holds no more than a validation loss.
  void add(CheckpointStore& store, int64_t step, std::optional<double> loss, const std::string& validated_on = "",
           std::optional<double> metric = std::nullopt) {
    std::map<std::string, std::string> metadata = {{"format", "longspan.training.1"}, {"step", std::to_string(step)}};
    if (loss) metadata["validation_loss"] = std::to_string(*loss);
    if (metric) metadata["validation_metric"] = std::to_string(*metric);
    if (!validated_on.empty()) metadata["validated_on"] = validated_on;
    store.add(step, [&](const std::string& folder) {
      write_safetensors(folder + "/" + kTrainingFile, {}, metadata);
      put(folder.substr(folder_.size() + 1) + "/note", std::to_string(step));
    });
  }
};

TEST_F(Checkpoints, OfADefaultRunTheLastAndTheBestAreKept) {
  TrainOptions options = small_options(9);
  options.checkpoint_every = 2;
  options.valid_every = 3;
  Trainer done = trainer(options);
  const Log log = run(done);
  std::set<int64_t> expected = {9};
  double best = INFINITY;
  int64_t best_step = 0;
  std::set<int64_t> saved = {2, 4, 6, 8, 9};
  for (const auto& validation : log.validations) {
    if (validation.loss >= best) continue;
    best = validation.loss;
    best_step = validation.step;
    saved.insert(best_step);
  }
  expected.insert(best_step);
  EXPECT_EQ(log.checkpoints, Steps(saved.begin(), saved.end())) << "an improvement is written too";
  EXPECT_EQ(kept(), Steps(expected.begin(), expected.end()));
  EXPECT_EQ(checkpoint_info(run_ + "/best").step, best_step);
  EXPECT_EQ(checkpoint_info(run_ + "/best").validation->loss, best) << "every bit";
  EXPECT_EQ(identity(run_), done.model().identity());
  EXPECT_EQ(identity(run_ + "/checkpoints/step-000009"), done.model().identity());
}

TEST_F(Checkpoints, KeepsTheLastAndTheBestAsAsked) {
  fs::create_directory(run_);
  CheckpointStore store(run_);
  const std::vector<double> losses = {5, 3, 4, 2, 2, 6, 7};
  std::vector<Steps> seen;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto step = static_cast<int64_t>(i + 1);
    EXPECT_EQ(store.improves(step, {losses[i]}, ""), i == 0 || i == 1 || i == 3) << step;
    add(store, step, losses[i]);
    store.keep(step, 2, 2);
    seen.push_back(kept());
  }
  EXPECT_EQ(seen, (std::vector<Steps>{{1}, {1, 2}, {2, 3}, {2, 3, 4}, {4, 5}, {4, 5, 6}, {4, 5, 6, 7}}));
  EXPECT_EQ(get("run/best/note"), "4") << "of two equal ones the earlier";
  EXPECT_EQ(get("run/note"), "7") << "the latest shows at the top";
  EXPECT_FALSE(fs::exists(path("run/training.safetensors")));

  add(store, 8, std::nullopt);
  store.keep(8, 1, 0);
  EXPECT_EQ(kept(), Steps{8});
  EXPECT_FALSE(fs::exists(fs::symlink_status(path("run/best")))) << "nothing that stays has a validation loss";
}

TEST_F(Checkpoints, LossesOnDifferentDataAreNotCompared) {
  fs::create_directory(run_);
  CheckpointStore store(run_);
  add(store, 1, 1.0, "easy");
  store.keep(1, 1, 1);
  EXPECT_TRUE(store.improves(2, {9.0}, "hard"));
  EXPECT_FALSE(store.improves(2, {1.0}, "easy"));
  add(store, 2, std::nullopt);
  store.keep(2, 1, 1);
  EXPECT_EQ(get("run/best/note"), "1") << "nothing was validated on other data yet";
  add(store, 3, 9.0, "hard");
  store.keep(3, 1, 1);
  EXPECT_EQ(kept(), Steps{3});
  EXPECT_FALSE(store.improves(4, {9.5}, "hard"));
  add(store, 4, 9.5, "hard");
  store.keep(4, 1, 1);
  EXPECT_EQ(get("run/best/note"), "3");
}

TEST_F(Checkpoints, AMetricCountsMoreThanTheLoss) {
  fs::create_directory(run_);
  CheckpointStore store(run_);
  const std::string on = "accuracy of x";
  add(store, 1, 1.0, on, 0.5);
  EXPECT_FALSE(store.improves(2, {0.5, 0.25}, on)) << "a lower loss with a lower metric";
  EXPECT_TRUE(store.improves(2, {2.0, 0.75}, on));
  EXPECT_TRUE(store.improves(2, {0.5, 0.5}, on)) << "of equal metrics the loss decides";
  EXPECT_FALSE(store.improves(2, {1.0, 0.5}, on)) << "equal in both";
  EXPECT_FALSE(store.improves(2, {0.5}, on)) << "a metric is better than none";
  add(store, 2, 2.0, on, 0.75);
  add(store, 3, 0.5, on, 0.25);
  store.keep(3, 1, 2);
  EXPECT_EQ(kept(), (Steps{1, 2, 3}));
  EXPECT_EQ(get("run/best/note"), "2");
  EXPECT_EQ(checkpoint_info(run_ + "/best").validation->metric, 0.75);
  add(store, 4, 0.1, "");
  store.keep(4, 1, 1);
  EXPECT_EQ(kept(), (Steps{2, 4})) << "what was written before there were metrics comes last";
}

TEST_F(Checkpoints, ARunThatGoesOnWithOtherDataSaysSo) {
  Trainer first = trainer(small_options(2));
  run(first);
  const TokenFile other_train = tokens("other-train", 3000, 5, 256), other_valid = tokens("other-valid", 200, 6, 256);
  Trainer same(make_model(byte_config(), 3), train_, &valid_, small_options(3));
  EXPECT_EQ(same.resume(run_).size(), 1u) << "of the number of steps alone";
  Trainer second(make_model(byte_config(), 3), other_train, &other_valid, small_options(3));
  const auto warnings = second.resume(run_);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[0], "resume: other training data: as many tokens as before, but not the same");
  EXPECT_EQ(warnings[1],
            "resume: validation is of something else than before; earlier losses are not compared with its own");
  const Log log = run(second);
  EXPECT_EQ(checkpoint_info(run_ + "/best").step, 3);
  EXPECT_EQ(checkpoint_info(run_ + "/best").validation->loss, log.validations.back().loss);
}

TEST_F(Checkpoints, BestIsAmongThoseThatStay) {
  fs::create_directory(run_);
  CheckpointStore store(run_);
  for (const int64_t step : {1, 2, 3}) {
    add(store, step, static_cast<double>(step));
    store.keep(step, 1, 0);
    EXPECT_EQ(get("run/best/note"), std::to_string(step)) << "the better ones before are gone";
  }
}

TEST_F(Checkpoints, WhatWasJustWrittenIsNeverRemoved) {
  fs::create_directory(run_);
  CheckpointStore store(run_);
  for (const int64_t step : {10, 20, 30}) add(store, step, 1.0 / static_cast<double>(step));
  add(store, 15, std::nullopt);  // of a run that went on from 10
  store.keep(15, 1, 1);
  EXPECT_EQ(kept(), (Steps{10, 15})) << "10 is the best that this run has seen";
  EXPECT_EQ(get("run/best/note"), "10");
}

TEST_F(Checkpoints, ADamagedOneGivesWayToTheOneBefore) {
  TrainOptions options = small_options(4);
  options.checkpoint_every = 2;
  options.keep_last = 2;
  options.keep_best = 0;
  Trainer whole = trainer(options);
  run(whole);
  ASSERT_EQ(kept(), (Steps{2, 4}));
  const std::string latest = "run/checkpoints/step-000004/training.safetensors", content = get(latest);
  std::string altered = content;
  altered[altered.size() - 100] ^= 1;
  for (const std::string& damaged : {altered, content.substr(0, 1000), std::string()}) {
    put(latest, damaged);
    EXPECT_EQ(saved_configuration(run_)["train"], to_json(options));
    Trainer resumed = trainer(options, 99);
    const auto warnings = resumed.resume(run_);
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_TRUE(warnings[0].starts_with("resume: " + path(latest) + ": ")) << warnings[0];
    EXPECT_EQ(warnings[1], "resume: going on from step 2 instead");
    run(resumed);
    EXPECT_TRUE(get(latest) == content) << "written again, bit for bit";
    EXPECT_EQ(kept(), (Steps{2, 4}));
  }
  for (const auto& checkpoint : find_checkpoints(run_)) fs::resize_file(checkpoint.folder + "/" + kTrainingFile, 100);
  Trainer none = trainer(options);
  EXPECT_TRUE(error_of([&] { none.resume(run_); }).starts_with(path(latest) + ": ")) << "the latest one's fault";
  EXPECT_EQ(none.steps_done(), 0);
}

TEST_F(Checkpoints, WhatAUserPutIntoOneThatIsWrittenAgainStays) {
  fs::create_directories(run_);
  CheckpointStore store(run_);
  const auto put_folder = [&](const std::string& checkpoint, const char* content) {
    fs::create_directories(path(checkpoint + "/mine"));
    put(checkpoint + "/mine/notes", content);
  };
  add(store, 5, 1.0);
  put_folder("run/checkpoints/step-000005", "precious");
  add(store, 5, 0.5);
  put_folder("run/checkpoints/step-000005", "precious too");
  add(store, 5, 0.5);
  add(store, 6, 0.4);
  EXPECT_EQ(kept(), (Steps{5, 6}));
  EXPECT_EQ(checkpoint_info(run_ + "/checkpoints/step-000005").validation->loss, 0.5);
  EXPECT_FALSE(fs::exists(run_ + "/checkpoints/step-000005/mine"));
  EXPECT_EQ(get("run/checkpoints/step-000005.1/mine/notes"), "precious");
  EXPECT_EQ(get("run/checkpoints/step-000005.2/mine/notes"), "precious too");
}

TEST_F(Checkpoints, AnyOfThemCanBeGoneOnFrom) {
  TrainOptions options = small_options(4);
  options.checkpoint_every = 1;
  options.keep_last = 4;
  Trainer whole = trainer(options);
  run(whole);
  Trainer resumed = trainer(options, 99);
  EXPECT_TRUE(resumed.resume(run_ + "/checkpoints/step-000002").empty());
  EXPECT_EQ(resumed.steps_done(), 2);
  resumed.step();
  resumed.step();
  EXPECT_EQ(resumed.model().identity(), whole.model().identity());
}

TEST_F(Checkpoints, TheModelAtTheTopCostsNoSecondCopy) {
  fs::create_directory(run_);
  CheckpointStore store(run_);
  store.add(1, [&](const std::string& folder) { std::ofstream(folder + "/large") << std::string(1 << 17, 'x'); });
  struct stat top, kept;
  ASSERT_EQ(::stat(path("run/large").c_str(), &top), 0);
  ASSERT_EQ(::stat(path("run/checkpoints/step-000001/large").c_str(), &kept), 0);
  EXPECT_EQ(top.st_ino, kept.st_ino);
}

TEST_F(Checkpoints, WhatAKilledWriterLeftGoes) {
  fs::create_directory(run_);
  in_a_killed_process([&] {
    CheckpointStore store(run_);
    store.add(1, [&](const std::string& folder) {
      std::ofstream(folder + "/half") << "x" << std::flush;
      ::raise(SIGKILL);
    });
  });
  EXPECT_TRUE(kept().empty());
  CheckpointStore store(run_);
  store.clear_unfinished();
  EXPECT_TRUE(fs::is_empty(path("run/checkpoints")));
}

TEST_F(Checkpoints, OfTheFirstLayoutGoOn) {
  TrainOptions options = small_options(2);
  Trainer old = trainer(options);
  old.step();
  old.save(run_, bytes_);  // training.safetensors beside the model
  Trainer resumed = trainer(options, 99);
  EXPECT_TRUE(resumed.resume(run_).empty());
  run(resumed);
  EXPECT_EQ(kept(), Steps{2});
  EXPECT_FALSE(fs::exists(path("run/training.safetensors")));
}

}  // namespace
}  // namespace longspan::train
