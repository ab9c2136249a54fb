#include "longspan/tasks/examples.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/data/label_set.h"
#include "longspan/tasks/masking.h"

namespace longspan::tasks {

namespace {

using models::HeadKind;

constexpr int64_t kLeastLength = 8;

Encoding encoded(const Tokenizer& tokenizer, std::string_view text, const RecordPlace& place) {
  Encoding out;
  try {
    out = tokenizer.encode_aligned(text);
  } catch (const InputError& error) {
    throw InputError(str_cat(place.text(), ": ", error.what()));
  }
  LONGSPAN_CHECK(!out.tokens.empty(), place.text(), ": the text has no token");
  return out;
}

void append(std::vector<int32_t>& to, const std::vector<uint32_t>& tokens, int64_t begin, int64_t end) {
  to.insert(to.end(), tokens.begin() + begin, tokens.begin() + end);
}

void push(ExampleSet& set, Example&& example, const RecordPlace& place) {
  set.examples.push_back(std::move(example));
  set.places.push_back(place);
}

/// `tokens` [begin, end) between the special ones.
Example sequence(const SequenceOptions& options, const Encoding& text, const std::vector<uint8_t>& starts,
                 int64_t begin, int64_t end) {
  Example example;
  example.tokens.push_back(static_cast<int32_t>(options.special.first));
  append(example.tokens, text.tokens, begin, end);
  example.tokens.push_back(static_cast<int32_t>(options.special.separator));
  if (!starts.empty()) {
    example.word_starts.push_back(1);
    example.word_starts.insert(example.word_starts.end(), starts.begin() + begin, starts.begin() + end);
    example.word_starts.push_back(1);
  }
  return example;
}

/// The tokens of `span`, among those whose text begins and ends at `offsets`.
TokenSpan tokens_of(const AnswerSpan& span, const std::vector<int64_t>& offsets) {
  const auto first = std::upper_bound(offsets.begin() + 1, offsets.end(), span.begin);  // its end lies behind the start
  const auto last = std::lower_bound(offsets.begin(), offsets.end() - 1, span.end);     // begins at the end or later
  return {first - offsets.begin() - 1, last - offsets.begin()};
}

void check(const SequenceOptions& options) {
  LONGSPAN_CHECK(options.length >= kLeastLength, "task: length must be at least ", kLeastLength, ", got ",
                 options.length);
}

RecordLabels labels_of(HeadKind kind) {
  if (kind == HeadKind::classification) return RecordLabels::one;
  return kind == HeadKind::multi_label ? RecordLabels::several : RecordLabels::none;
}

}  // namespace

int64_t ExampleSet::tokens() const {
  int64_t sum = 0;
  for (const Example& example : examples) sum += static_cast<int64_t>(example.tokens.size());
  return sum;
}

void add_record(ExampleSet& set, const SequenceOptions& options, TextRecord&& record) {
  check(options);
  set.kind = options.kind;
  const Encoding text = encoded(*options.tokenizer, record.text, record.place);
  std::vector<uint8_t> starts;
  if (options.whole_words) starts = word_starts(record.text, text.source_bytes);
  const auto size = static_cast<int64_t>(text.tokens.size());
  const int64_t room = options.length - 2;
  const bool pieces = options.kind == HeadKind::masked_language;
  for (int64_t begin = 0; begin < (pieces ? size : 1); begin += room) {
    push(set, sequence(options, text, starts, begin, std::min(begin + room, size)), record.place);
    if (!pieces) set.label_names.push_back(std::move(record.labels));
  }
  ++set.records;
  set.truncated += !pieces && size > room;
  set.longest_record = std::max(set.longest_record, size + 2);
}

void add_record(ExampleSet& set, const SequenceOptions& options, QuestionRecord&& record) {
  check(options);
  set.kind = options.kind;
  const Encoding question = encoded(*options.tokenizer, record.question, record.place),
                 context = encoded(*options.tokenizer, record.context, record.place);
  const auto asked = static_cast<int64_t>(question.tokens.size()), all = static_cast<int64_t>(context.tokens.size());
  const int64_t kept_question = std::min(asked, options.length / 2 - 3);
  const int64_t kept = std::min(all, options.length - kept_question - 4);

  Example example;
  const auto special = [&](int64_t token) { example.tokens.push_back(static_cast<int32_t>(token)); };
  special(options.special.first);
  append(example.tokens, question.tokens, 0, kept_question);
  special(options.special.separator);
  special(options.special.separator);
  example.context.begin = static_cast<int64_t>(example.tokens.size());
  append(example.tokens, context.tokens, 0, kept);
  example.context.end = static_cast<int64_t>(example.tokens.size());
  special(options.special.separator);

  example.offsets.push_back(0);
  for (int64_t i = 0; i < kept; ++i)
    example.offsets.push_back(example.offsets.back() + context.source_bytes[static_cast<std::size_t>(i)]);
  for (const AnswerSpan& answer : record.answers) {
    if (answer.end > example.offsets.back()) continue;
    const TokenSpan inside = tokens_of(answer, example.offsets);
    example.answers.push_back({example.context.begin + inside.begin, example.context.begin + inside.end});
  }
  ++set.records;
  const bool lost = !record.answers.empty() && example.answers.empty();
  set.truncated += kept < all || kept_question < asked;
  set.lost_answers += lost;
  set.longest_record = std::max(set.longest_record, asked + all + 4);
  push(set, std::move(example), record.place);
  set.questions.push_back(std::move(record));
}

ExampleSet read_examples(const RecordOptions& records, const SequenceOptions& options, Progress& progress) {
  ExampleSet set;
  RecordOptions of_text = records;
  of_text.utf8 = options.tokenizer->name() != "bytes";
  const auto add = [&](auto&& record) { add_record(set, options, std::move(record)); };
  if (options.kind == HeadKind::question)
    read_question_records(of_text, progress, [&](QuestionRecord&& record) { add(std::move(record)); });
  else
    read_text_records(of_text, records.read_answers ? labels_of(options.kind) : RecordLabels::none, progress,
                      [&](TextRecord&& record) { add(std::move(record)); });
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
  if (set.kind != HeadKind::classification) return;
  for (std::size_t i = 0; i < set.examples.size(); ++i)
    LONGSPAN_CHECK(set.examples[i].labels.size() == 1, "task: ", name, ": ", set.places[i].text(),
                   " has no number for its label (number_labels)");
}

models::HeadConfig head_for(const ExampleSet& train, models::HeadConfig head) {
  head.kind = train.kind;
  head.labels = labels_of(train);
  if (train.kind == HeadKind::question)
    head.may_be_empty =
        std::ranges::any_of(train.questions, [](const QuestionRecord& record) { return record.answers.empty(); });
  validate(head);
  return head;
}

int64_t drop_lost_answers(ExampleSet& set) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < set.examples.size(); ++i) {
    if (!set.questions[i].answers.empty() && set.examples[i].answers.empty()) continue;
    if (kept != i) {
      set.examples[kept] = std::move(set.examples[i]);
      set.questions[kept] = std::move(set.questions[i]);
      set.places[kept] = std::move(set.places[i]);
    }
    ++kept;
  }
  const auto dropped = static_cast<int64_t>(set.examples.size() - kept);
  set.examples.resize(kept);
  set.questions.resize(kept);
  set.places.resize(kept);
  return dropped;
}

std::string answer_text(const Example& example, std::string_view context, TokenSpan span) {
  const auto offset = [&](int64_t token) {
    return static_cast<std::size_t>(example.offsets.at(static_cast<std::size_t>(token - example.context.begin)));
  };
  std::string_view text = context.substr(offset(span.begin), offset(span.end) - offset(span.begin));
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kBlank) + 1 - first));
}

}  // namespace longspan::tasks
