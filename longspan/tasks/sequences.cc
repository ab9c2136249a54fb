// add_record: from the text of a record to the sequences that a model reads.
#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/tasks/examples.h"
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

void append(std::vector<int32_t>& to, const std::vector<uint32_t>& tokens, TokenSpan span) {
  to.insert(to.end(), tokens.begin() + span.begin, tokens.begin() + span.end);
}

int64_t size_of(const Encoding& text) { return static_cast<int64_t>(text.tokens.size()); }

/// `span` of a text between the special tokens.
Sequence sequence_of(const SequenceOptions& options, const Encoding& text, const std::vector<uint8_t>& starts,
                     TokenSpan span) {
  Sequence out;
  out.tokens.push_back(static_cast<int32_t>(options.special.first));
  append(out.tokens, text.tokens, span);
  out.tokens.push_back(static_cast<int32_t>(options.special.separator));
  if (!starts.empty()) {
    out.word_starts.push_back(1);
    out.word_starts.insert(out.word_starts.end(), starts.begin() + span.begin, starts.begin() + span.end);
    out.word_starts.push_back(1);
  }
  return out;
}

/// The tokens of `span`, among those whose text begins and ends at `offsets`.
TokenSpan tokens_of(const AnswerSpan& span, const std::vector<int64_t>& offsets) {
  const auto first = std::upper_bound(offsets.begin() + 1, offsets.end(), span.begin);  // its end lies behind the start
  const auto last = std::lower_bound(offsets.begin(), offsets.end() - 1, span.end);     // begins at the end or later
  return {first - offsets.begin() - 1, last - offsets.begin()};
}

void begin_record(ExampleSet& set, const SequenceOptions& options) {
  LONGSPAN_CHECK(options.length >= kLeastLength, "task: length must be at least ", kLeastLength, ", got ",
                 options.length);
  set.kind = options.kind;
  ++set.records;
}

/// What of a text of so many tokens is read, `room` at a time.
std::vector<TokenSpan> parts_of(ExampleSet& set, const SequenceOptions& options, int64_t tokens, int64_t room) {
  if (!options.windows) {
    set.truncated += tokens > room;
    return {{0, std::min(tokens, room)}};
  }
  set.windowed += tokens > room;
  return windows_over(tokens, room, options.stride);
}

void push(ExampleSet& set, Example&& example, const RecordPlace& place, const std::string& id) {
  set.examples.push_back(std::move(example));
  set.places.push_back(place);
  set.ids.push_back(id);
}

/// The separators between two texts, of which one ends the first text already.
void next_text(Sequence& sequence, const SequenceOptions& options) {
  for (int64_t i = 1; i < options.special.between; ++i)
    sequence.tokens.push_back(static_cast<int32_t>(options.special.separator));
}

/// The beginning of every window of a question, as far as the context.
Sequence question_part(ExampleSet& set, const SequenceOptions& options, const Encoding& question) {
  const int64_t kept = std::min(size_of(question), options.length / 2 - 3);
  set.truncated += kept < size_of(question);
  Sequence out = sequence_of(options, question, {}, {0, kept});
  next_text(out, options);
  return out;
}

/// `span` of the context behind what stands before it.
void append_context(Sequence& sequence, const SequenceOptions& options, const Encoding& context, TokenSpan span) {
  sequence.context.begin = static_cast<int64_t>(sequence.tokens.size());
  append(sequence.tokens, context.tokens, span);
  sequence.context.end = static_cast<int64_t>(sequence.tokens.size());
  sequence.tokens.push_back(static_cast<int32_t>(options.special.separator));
}

int64_t room_behind(const Sequence& before, const SequenceOptions& options) {
  return options.length - static_cast<int64_t>(before.tokens.size()) - 1;
}

}  // namespace

void add_record(ExampleSet& set, const SequenceOptions& options, TextRecord&& record) {
  begin_record(set, options);
  const Encoding text = encoded(*options.tokenizer, record.text, record.place);
  std::vector<uint8_t> starts;
  if (options.whole_words) starts = word_starts(record.text, text.source_bytes);
  const int64_t size = size_of(text), room = options.length - 2;
  set.longest_record = std::max(set.longest_record, size + 2);
  if (options.kind == HeadKind::masked_language) {
    for (int64_t begin = 0; begin < size; begin += room) {
      Example piece;
      piece.windows.push_back(sequence_of(options, text, starts, {begin, std::min(begin + room, size)}));
      push(set, std::move(piece), record.place, record.id);
    }
    return;
  }
  Example example;
  for (const TokenSpan span : parts_of(set, options, size, room))
    example.windows.push_back(sequence_of(options, text, starts, span));
  push(set, std::move(example), record.place, record.id);
  set.label_names.push_back(std::move(record.labels));
}

void add_record(ExampleSet& set, const SequenceOptions& options, QuestionRecord&& record) {
  begin_record(set, options);
  const Encoding question = encoded(*options.tokenizer, record.question, record.place),
                 context = encoded(*options.tokenizer, record.context, record.place);
  const int64_t cut_before = set.truncated;
  const Sequence before = question_part(set, options, question);
  std::vector<int64_t> offsets = {0};  // of all tokens
  for (const uint32_t bytes : context.source_bytes) offsets.push_back(offsets.back() + bytes);

  Example example;
  bool held = false;
  for (const TokenSpan span : parts_of(set, options, size_of(context), room_behind(before, options))) {
    Sequence& sequence = example.windows.emplace_back(before);
    append_context(sequence, options, context, span);
    sequence.offsets.assign(offsets.begin() + span.begin, offsets.begin() + span.end + 1);
    for (std::size_t i = 0; i < record.answers.size(); ++i) {
      const AnswerSpan& answer = record.answers[i];
      if (answer.begin < sequence.offsets.front() || answer.end > sequence.offsets.back()) continue;
      const TokenSpan inside = tokens_of(answer, sequence.offsets);
      sequence.answers.push_back(
          {static_cast<int64_t>(i), {sequence.context.begin + inside.begin, sequence.context.begin + inside.end}});
      held = true;
    }
  }
  set.truncated = std::min(set.truncated, cut_before + 1);  // question and context of one record
  set.lost_answers += !record.answers.empty() && !held;
  set.longest_record = std::max(set.longest_record, size_of(question) + size_of(context) + options.special.between + 2);
  push(set, std::move(example), record.place, record.id);
  set.questions.push_back(std::move(record));
}

void add_record(ExampleSet& set, const SequenceOptions& options, ChoiceRecord&& record) {
  begin_record(set, options);
  const Encoding question = encoded(*options.tokenizer, record.question, record.place),
                 context = encoded(*options.tokenizer, record.context, record.place);
  const int64_t cut_before = set.truncated;
  Sequence before = question_part(set, options, question);
  for (const std::string& candidate : record.candidates) {
    const Encoding text = encoded(*options.tokenizer, candidate, record.place);
    append(before.tokens, text.tokens, {0, size_of(text)});
    before.candidates.push_back(static_cast<int64_t>(before.tokens.size()));
    before.tokens.push_back(static_cast<int32_t>(options.special.separator));
  }
  next_text(before, options);
  const int64_t room = room_behind(before, options);
  LONGSPAN_CHECK(room >= std::max<int64_t>(1, options.length / 8), record.place.text(), ": the question and its ",
                 record.candidates.size(), " candidates have ", before.tokens.size(), " tokens, and of a sequence of ",
                 options.length, " at least an eighth must be left to the context; give a greater length");

  Example example;
  for (const TokenSpan span : parts_of(set, options, size_of(context), room))
    append_context(example.windows.emplace_back(before), options, context, span);
  if (record.answer >= 0) example.labels = {record.answer};
  set.truncated = std::min(set.truncated, cut_before + 1);
  set.longest_record = std::max(set.longest_record, static_cast<int64_t>(before.tokens.size()) + size_of(context) + 1);
  push(set, std::move(example), record.place, record.id);
  set.choices.push_back(std::move(record));
}

}  // namespace longspan::tasks
