// read_task and measure_data.
#include <algorithm>
#include <map>

#include "bag_of_words.h"
#include "longspan/base/check.h"
#include "longspan/io/json.h"
#include "run.h"
#include "tools/longspan/prepare_progress.h"
#include "word_match.h"

namespace longspan::tool {

namespace {

constexpr std::string_view kLast = " LAST PASSAGE: ";

std::string file_of(const DocumentRun& run, const DocumentTask& task, const char* split) {
  return run.plan.data + "/" + task.name + "/" + split + ".jsonl";
}

models::HeadKind head_kind_of(const DocumentTask& task) {
  switch (task.kind) {
    case DocumentTask::Kind::question:
      return models::HeadKind::question;
    case DocumentTask::Kind::masked:
      return models::HeadKind::masked_language;
    case DocumentTask::Kind::classification:
      break;
  }
  return models::HeadKind::classification;
}

std::vector<TextRecord> records_of(const DocumentRun& run, const DocumentTask& task, const char* split) {
  RecordOptions options;
  options.inputs = {file_of(run, task, split)};
  PrepareProgress progress(true);
  return read_text_records(options, RecordLabels::one, progress);
}

/// Tokens between the first passage and the last of a document of `pairs`; none for other documents.
std::optional<int64_t> tokens_between(const Tokenizer& tokenizer, std::string_view text, int64_t passage_words) {
  const std::size_t last = text.find(kLast);
  if (last == std::string_view::npos) return std::nullopt;
  std::size_t begin = 0;
  for (int64_t words = 0; words < passage_words + 2; ++words) {  // "FIRST PASSAGE:"
    const std::size_t blank = text.find(' ', begin);
    if (blank == std::string_view::npos || blank >= last) return std::nullopt;
    begin = blank + 1;
  }
  return static_cast<int64_t>(tokenizer.encode(text.substr(begin, last - begin)).size());
}

/// Part of the test examples that have the label which is most common in training.
double common_label(const TaskExamples& examples) {
  std::map<int64_t, int64_t> counts;
  for (const tasks::Example& example : examples.train.examples) ++counts[example.labels.at(0)];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto right = std::count_if(examples.test.examples.begin(), examples.test.examples.end(),
                                   [&](const tasks::Example& example) { return example.labels.at(0) == most->first; });
  return static_cast<double>(right) / static_cast<double>(examples.test.size());
}

/// Part of the tokens of the test that are the most common one of training.
double common_token(const TaskExamples& examples) {
  std::map<int32_t, int64_t> train, test;
  int64_t all = 0;
  const auto count = [](const tasks::ExampleSet& set, std::map<int32_t, int64_t>& counts) {
    for (const tasks::Example& example : set.examples)
      for (std::size_t i = 1; i + 1 < example.windows.front().tokens.size(); ++i)
        ++counts[example.windows.front().tokens[i]];
  };
  count(examples.train, train);
  count(examples.test, test);
  for (const auto& [token, number] : test) all += number;
  const auto most =
      std::max_element(train.begin(), train.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return static_cast<double>(test[most->first]) / static_cast<double>(all);
}

}  // namespace

TaskExamples read_task(const DocumentRun& run, const DocumentTask& task) {
  TaskExamples out;
  tasks::SequenceOptions options;
  options.tokenizer = &run.tokenizer;
  options.special = models::SpecialTokens{};
  const int64_t vocabulary = run.tokenizer.vocabulary_size() + models::kSpecialTokens;
  for (int64_t* token :
       {&options.special.first, &options.special.separator, &options.special.padding, &options.special.mask})
    *token += vocabulary;
  options.kind = head_kind_of(task);
  options.length = task.tokens;
  PrepareProgress progress(run.common.quiet);
  for (const auto& [split, set] : {std::pair{"train", &out.train}, {"valid", &out.valid}, {"test", &out.test}}) {
    RecordOptions records;
    records.inputs = {file_of(run, task, split)};
    *set = tasks::read_examples(records, options, progress);
  }
  progress.finish();
  out.head.kind = options.kind;
  out.head = tasks::head_for(out.train, out.head);
  if (options.kind == models::HeadKind::classification)
    for (tasks::ExampleSet* set : {&out.train, &out.valid, &out.test}) tasks::number_labels(*set, out.head.labels);
  if (options.kind == models::HeadKind::question) tasks::drop_lost_answers(out.train);
  return out;
}

void measure_data(DocumentRun& run, const DocumentTask& task, const TaskExamples& examples) {
  DocumentData data;
  data.task = task.name;
  std::vector<int64_t> sizes;
  for (const auto* set : {&examples.train, &examples.valid, &examples.test}) {
    (set == &examples.train ? data.train : set == &examples.valid ? data.valid : data.test) = set->records;
    for (const tasks::Example& example : set->examples) sizes.push_back(example.tokens());
    data.longest_tokens = std::max(data.longest_tokens, set->longest_record);
  }
  std::sort(sizes.begin(), sizes.end());
  data.median_tokens = sizes[sizes.size() / 2];
  if (task.kind == DocumentTask::Kind::classification) {
    data.chance = common_label(examples);
    const auto train = records_of(run, task, "train"), valid = records_of(run, task, "valid"),
               test = records_of(run, task, "test");
    const BagOfWords bag(train, valid, LabelSet(train));
    run.results.yardsticks.push_back({task.name, "bag of words", bag.accuracy(test)});
    const Json words = load_json(run.plan.data + "/sources.json").value("passage_words", Json::object());
    if (const int64_t passage_words = words.value(task.name, int64_t{0}); passage_words > 0)
      for (const auto* records : {&train, &valid, &test})
        for (const TextRecord& record : *records)
          if (const auto between = tokens_between(run.tokenizer, record.text, passage_words))
            data.least_between = std::min(data.least_between.value_or(*between), *between);
  } else if (task.kind == DocumentTask::Kind::masked) {
    data.chance = common_token(examples);
    run.results.yardsticks.push_back({task.name, "bag of words", *data.chance});
  } else {
    run.results.yardsticks.push_back({task.name, "bag of words", word_match_f1(examples.test.questions)});
  }
  run.results.data.push_back(std::move(data));
}

}  // namespace longspan::tool
