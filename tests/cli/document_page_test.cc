// What the document demo makes of its numbers, without running it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/longspan/demo_documents/page.h"

namespace longspan::tool {
namespace {

DocumentPlan plan() {
  DocumentPlan p;
  p.tasks = {{.name = "pairs", .title = "Same author", .about = "Who wrote it?"}};
  p.contenders = {{"diffuser", "Diffuser", "diffuser"}, {"softmax", "softmax", "softmax"}};
  p.lengths = {1024, 2048};
  return p;
}

DocumentResults results(double diffuser, double softmax) {
  DocumentResults r;
  r.data = {{.task = "pairs",
             .train = 4000,
             .valid = 200,
             .test = 400,
             .median_tokens = 2600,
             .longest_tokens = 3000,
             .least_between = 2100,
             .chance = 0.5}};
  r.scores = {{.task = "pairs", .contender = "diffuser", .test = diffuser, .valid = {{10, 0.5}, {20, 0.6}}},
              {.task = "pairs", .contender = "softmax", .test = softmax}};
  r.yardsticks = {{"pairs", "bag of words", 0.5}};
  r.costs = {{"diffuser", 1024, 0.01}, {"softmax", 1024, 0.04}, {"softmax", 2048, 0.16, 1e6}};
  return r;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(DocumentPlan, TasksGoOnFromTasksBefore) {
  for (const bool full : {false, true}) {
    const DocumentPlan p = make_document_plan("data", full, 0, 0);
    EXPECT_EQ(p.contenders.back().name, "softmax");  // the yardstick of windows
    std::vector<std::string> before = {""};
    for (const DocumentTask& task : p.tasks) {
      EXPECT_NE(std::find(before.begin(), before.end(), task.from), before.end()) << task.name;
      EXPECT_LE(task.tokens, p.positions);
      before.push_back(task.name);
    }
    EXPECT_EQ(p.seeds.size(), full ? 3u : 1u);
  }
  const DocumentPlan small = make_document_plan("data", true, 7, 2048);
  for (const DocumentTask& task : small.tasks) EXPECT_EQ(task.steps, 7);
  EXPECT_EQ(small.lengths, (std::vector<int64_t>{1024, 2048}));
}

TEST(DocumentResults, SamplingErrorIsThatOfABinomial) {
  EXPECT_NEAR(sampling_error(0.5, 400), 1.959964 * 0.025, 1e-12);
  EXPECT_EQ(sampling_error(1, 400), 0);
  EXPECT_EQ(sampling_error(0.5, 0), 0);
}

TEST(DocumentResults, MeansOverSeeds) {
  DocumentResults r = results(0.6, 0.9);
  r.scores.push_back({.task = "pairs", .contender = "diffuser", .seed = 1, .test = 0.8});
  const auto cell = score_of(r, "pairs", "diffuser");
  ASSERT_TRUE(cell);
  EXPECT_NEAR(cell->mean, 0.7, 1e-15);
  EXPECT_EQ(cell->lowest, 0.6);
  EXPECT_EQ(cell->highest, 0.8);
  EXPECT_FALSE(score_of(r, "novel", "diffuser"));
  DocumentPlan p = plan();
  p.seeds = {0, 1};
  EXPECT_EQ(score_table(p, r).rows[0][1], "70.0 % (60.0 to 80.0)");
}

TEST(DocumentTables, ARowForEverythingAColumnForEveryTask) {
  const report::Table table = score_table(plan(), results(0.75, 0.9));
  std::vector<std::string> first;
  for (const auto& row : table.rows) first.push_back(row[0] + ": " + row[1]);
  EXPECT_EQ(first, (std::vector<std::string>{"Diffuser: 75.0 %", "softmax: 90.0 %", "bag of words: 50.0 %",
                                             "the most common answer: 50.0 %"}));
  const report::Table steps = step_table(plan(), results(0.75, 0.9));
  EXPECT_EQ(steps.rows[0], (std::vector<std::string>{"Diffuser", "10.0 ms (4.0x)", "-"}));
  EXPECT_EQ(steps.rows[1], (std::vector<std::string>{"softmax", "40.0 ms", "160 ms"}));
}

TEST(DocumentSentences, ClaimNoMoreThanTheDocumentsShow) {
  const DocumentPlan p = plan();
  // 400 documents: 2 * 2.45 percentage points each way, hypot 6.9 for both.
  const std::string none = task_sentence(p, results(0.55, 0.45), p.tasks[0]);
  EXPECT_TRUE(contains(none, "no attention is above that")) << none;
  EXPECT_TRUE(contains(none, "For comparison: bag of words 50.0 % (no more than the most common answer).")) << none;
  const std::string one = task_sentence(p, results(0.9, 0.5), p.tasks[0]);
  EXPECT_TRUE(contains(one, "Diffuser 90.0 %; not above it: softmax 50.0 %.")) << one;
  EXPECT_EQ(task_sentence(p, DocumentResults(), p.tasks[0]), "");
}

TEST(DocumentPage, HasEveryPart) {
  DocumentResults r = results(0.9, 0.95);
  r.command = {"longspan", "demo-documents"};
  r.sources = Json::parse(R"([{"package": "git-man", "version": "1:2.39", "licence": "x/copyright"}])");
  const std::string html = document_page(plan(), r).html();
  for (const char* part : {"Who wrote it?", "bag of words", "at least 2,100 tokens", "git-man", "1:2.39",
                           "longspan demo-documents", "Time of a training step", "Memory of a training step"})
    EXPECT_TRUE(contains(html, part)) << part;
  const Json metrics = document_metrics(plan(), r);
  EXPECT_EQ(metrics["tasks"]["pairs"]["attentions"]["softmax"][0]["test"], 0.95);
  EXPECT_EQ(metrics["tasks"]["pairs"]["yardsticks"]["bag of words"], 0.5);
  EXPECT_EQ(metrics["costs"]["softmax"]["2048"]["bytes"], 1e6);
  EXPECT_FALSE(metrics["costs"]["softmax"]["1024"].contains("bytes"));
}

TEST(DocumentPage, OfNothingIsAPage) {
  const std::string html = document_page(plan(), DocumentResults()).html();
  EXPECT_TRUE(contains(html, "</html>"));
}

}  // namespace
}  // namespace longspan::tool
