#include "longspan/tasks/examples.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/data/label_set.h"
#include "longspan/text/subword/unicode.h"
#include "longspan/text/utf8.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

RecordLabels labels_of(HeadKind kind) {
  if (kind == HeadKind::classification) return RecordLabels::one;
  return kind == HeadKind::multi_label ? RecordLabels::several : RecordLabels::none;
}

}  // namespace

int64_t Example::tokens() const {
  int64_t sum = 0;
  for (const Sequence& window : windows) sum += static_cast<int64_t>(window.tokens.size());
  return sum;
}

int64_t Example::first_answer() const {
  int64_t first = -1;
  for (const Sequence& window : windows)
    for (const HeldAnswer& answer : window.answers)
      if (first < 0 || answer.number < first) first = answer.number;
  return first;
}

std::vector<int64_t> Example::answering(LearnAnswers learn) const {
  const int64_t first = first_answer();
  std::vector<int64_t> out;
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (std::ranges::any_of(windows[i].answers, [&](const HeldAnswer& answer) {
          return learn == LearnAnswers::all || answer.number == first;
        }))
      out.push_back(static_cast<int64_t>(i));
  return out;
}

int64_t ExampleSet::sequences() const {
  int64_t sum = 0;
  for (const Example& example : examples) sum += static_cast<int64_t>(example.windows.size());
  return sum;
}

int64_t ExampleSet::tokens() const {
  int64_t sum = 0;
  for (const Example& example : examples) sum += example.tokens();
  return sum;
}

ExampleSet read_examples(const RecordOptions& records, const SequenceOptions& options, Progress& progress) {
  ExampleSet set;
  RecordOptions of_text = records;
  of_text.utf8 = options.tokenizer->name() != "bytes";
  const auto add = [&](auto&& record) { add_record(set, options, std::move(record)); };
  if (options.kind == HeadKind::question)
    read_question_records(of_text, progress, add);
  else if (options.kind == HeadKind::choice)
    read_choice_records(of_text, progress, add);
  else
    read_text_records(of_text, records.read_answers ? labels_of(options.kind) : RecordLabels::none, progress, add);
  return set;
}

std::vector<std::string> labels_of(const ExampleSet& set) {
  std::vector<std::string> names;
  for (const auto& each : set.label_names) names.insert(names.end(), each.begin(), each.end());
  return LabelSet(std::move(names)).names();
}

void number_labels(ExampleSet& set, const std::vector<std::string>& labels) {
  const LabelSet known(labels);
  std::vector<int64_t> number;  // of a label of the set, which has an order of its own
  for (const std::string& name : known.names()) number.push_back(std::ranges::find(labels, name) - labels.begin());
  for (std::size_t i = 0; i < set.label_names.size(); ++i) {
    auto& numbers = set.examples[i].labels;
    numbers.clear();
    for (const std::string& name : set.label_names[i])
      numbers.push_back(number[static_cast<std::size_t>(known.index(name, set.places[i]))]);
    std::ranges::sort(numbers);
  }
}

void check_labels(const ExampleSet& set, const std::string& name) {
  if (set.kind != HeadKind::classification && set.kind != HeadKind::choice) return;
  const char* lacks = set.kind == HeadKind::choice ? " has no answer" : " has no number for its label (number_labels)";
  for (std::size_t i = 0; i < set.examples.size(); ++i)
    LONGSPAN_CHECK(set.examples[i].labels.size() == 1, "task: ", name, ": ", set.places[i].text(), lacks);
}

models::HeadConfig head_for(const ExampleSet& train, models::HeadConfig head) {
  head.kind = train.kind;
  head.labels = labels_of(train);
  if (train.kind == HeadKind::question)
    head.may_be_empty =
        std::ranges::any_of(train.questions, [](const QuestionRecord& record) { return record.has_none(); });
  validate(head);
  return head;
}

int64_t drop_lost_answers(ExampleSet& set) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < set.examples.size(); ++i) {
    if (!set.questions[i].has_none() && set.examples[i].first_answer() < 0) continue;
    if (kept != i) {
      set.examples[kept] = std::move(set.examples[i]);
      set.questions[kept] = std::move(set.questions[i]);
      set.places[kept] = std::move(set.places[i]);
      set.ids[kept] = std::move(set.ids[i]);
    }
    ++kept;
  }
  const auto dropped = static_cast<int64_t>(set.examples.size() - kept);
  set.examples.resize(kept);
  set.questions.resize(kept);
  set.places.resize(kept);
  set.ids.resize(kept);
  return dropped;
}

AnswerSpan answer_bytes(const Sequence& sequence, std::string_view context, TokenSpan span) {
  const auto offset = [&](int64_t token) {
    return static_cast<std::size_t>(sequence.offsets.at(static_cast<std::size_t>(token - sequence.context.begin)));
  };
  std::size_t begin = offset(span.begin), end = offset(span.end);
  begin = character_begin(context, begin);
  end = character_end(context, end);
  while (begin < end) {
    const auto character = unicode::first(context.substr(begin, end - begin));
    if (unicode::is_seen(character.code)) break;
    begin += character.size;
  }
  while (begin < end) {
    const auto character = unicode::before(context.substr(0, end), end);
    if (unicode::is_seen(character.code)) break;
    end -= character.size;
  }
  if (begin == end) return {};
  return {static_cast<int64_t>(begin), static_cast<int64_t>(end)};
}

}  // namespace longspan::tasks
