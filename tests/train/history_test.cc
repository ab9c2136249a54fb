#include "longspan/train/history.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numbers>
#include <sstream>

#include "tests/io/scratch_folder.h"

namespace longspan::train {
namespace {

StepResult step(int64_t number) {
  StepResult result;
  result.step = number;
  result.loss = 2 * std::numbers::ln2 * static_cast<double>(number);
  result.grad_norm = 0.5;
  result.learning_rate = 1e-3;
  result.tokens = 100;
  result.seconds = 0.25;
  return result;
}

class HistoryFile : public ScratchFolder {
 protected:
  std::string file() const { return path(History::kFile); }

  /// Steps `first` to `last` of a new process.
  void work(int64_t first, int64_t last) const {
    History history(file(), first - 1, 1);
    history.start(first - 1, 100, 2);
    for (int64_t number = first; number <= last; ++number) {
      history.on_step(step(number));
      if (number % 10 == 0) history.on_checkpoint(number);
    }
  }
  /// "start 0", "step 1", ...: what a process that goes on from `at` is told.
  std::vector<std::string> told(int64_t at) const {
    std::vector<std::string> out;
    const History history(file(), at, 1, [&](const Json& event) {
      out.push_back(str_cat(event["event"].get<std::string>(), " ", event["step"].get<int64_t>()));
    });
    return out;
  }
  std::vector<std::string> lines() const {
    std::istringstream in(get(History::kFile));
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
};

TEST_F(HistoryFile, EveryEventIsAWholeLineAtOnce) {
  History history(file(), 0, 4);
  history.start(0, 7, 2);
  history.on_step(step(1));
  ASSERT_EQ(lines().size(), 2u) << "before the file is closed";
  EXPECT_EQ(Json::parse(lines()[0]), (Json{{"event", "start"}, {"step", 0}, {"steps", 7}, {"threads", 2}}));
  const Json first = Json::parse(lines()[1]);
  EXPECT_EQ(first["event"], "step");
  EXPECT_EQ(first["step"], 1);
  EXPECT_EQ(first["loss"], 2 * std::numbers::ln2);
  EXPECT_EQ(first["bits_per_byte"], 0.5) << "two bits a token of four bytes";
  EXPECT_EQ(first["tokens_per_second"], 400);
  history.on_validation({1, 8 * std::numbers::ln2, 64, 1.0, 256});
  history.on_checkpoint(1);
  history.start(1, 7, 2, "longspan train \xFF", "data: 3 tokens");
  EXPECT_EQ(Json::parse(lines()[4])["command"], "longspan train \xEF\xBF\xBD");
  EXPECT_EQ(Json::parse(lines()[4])["data"], "data: 3 tokens");
  EXPECT_EQ(Json::parse(lines()[2])["bits_per_byte"], 2);
  EXPECT_EQ(Json::parse(lines()[3]), (Json{{"event", "checkpoint"}, {"step", 1}}));
}

TEST_F(HistoryFile, StepsBeyondTheCheckpointGo) {
  work(1, 13);
  EXPECT_EQ(told(10).back(), "checkpoint 10");
  EXPECT_EQ(lines().size(), 12u) << "start, ten steps, checkpoint";
  work(11, 12);
  const auto all = told(12);
  const std::vector<std::string> end = {"step 10", "checkpoint 10", "start 10", "step 11", "step 12"};
  EXPECT_EQ(std::vector<std::string>(all.end() - 5, all.end()), end);
}

TEST_F(HistoryFile, HalfALineGoesWhereverItWasCut) {
  work(1, 3);
  const std::string whole = get(History::kFile);
  const std::size_t last = whole.rfind("{\"event\"");
  for (std::size_t size = last; size <= whole.size(); ++size) {
    put(History::kFile, whole.substr(0, size));
    const auto all = told(3);
    ASSERT_EQ(all.size(), size == whole.size() ? 4u : 3u) << size << " of " << whole.size() << " bytes";
    ASSERT_EQ(get(History::kFile), size == whole.size() ? whole : whole.substr(0, last)) << size;
  }
}

TEST_F(HistoryFile, WhatIsNoEventGoesAndTheRestStays) {
  work(1, 2);
  std::ofstream(file(), std::ios::app) << std::string(5, '\0')
                                       << "\n[1]\n{\"event\": \"step\"}\n{\"event\": 3, \"step\": 1}\n";
  {
    History history(file(), 2, 1);
    history.on_step(step(3));
  }
  EXPECT_EQ(told(3), (std::vector<std::string>{"start 0", "step 1", "step 2", "step 3"}));
}

TEST_F(HistoryFile, ANewRunBeginsANewFile) {
  work(1, 3);
  work(1, 1);
  EXPECT_EQ(told(1), (std::vector<std::string>{"start 0", "step 1"}));
}

TEST_F(HistoryFile, AWholeHistoryIsNotRewritten) {
  work(1, 3);
  const auto before = std::filesystem::last_write_time(file());
  told(3);
  EXPECT_EQ(std::filesystem::last_write_time(file()), before);
}

TEST_F(HistoryFile, SaysWhatCannotBeWritten) {
  const std::string missing = path("missing/history.jsonl");
  EXPECT_NE(error_of<RunError>([&] { History history(missing, 0, 1); }).find(missing), std::string::npos);
  std::filesystem::create_directory(file());
  EXPECT_NE(error_of<RunError>([&] { History history(file(), 0, 1); }).find(file()), std::string::npos);
}

}  // namespace
}  // namespace longspan::train
