// Records as the tokens and targets of a task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/data/records.h"
#include "longspan/models/encoder_config.h"
#include "longspan/models/encoder_heads.h"
#include "longspan/text/tokenizer.h"

namespace longspan::tasks {

/// Tokens [begin, end) of a sequence.
struct TokenSpan {
  int64_t begin = 0, end = 0;
  bool operator==(const TokenSpan&) const = default;
};

/// One sequence: first text separator, or first question separator separator context separator.
struct Example {
  std::vector<int32_t> tokens;
  std::vector<int64_t> labels;       ///< numbers, ascending; classification: one
  std::vector<uint8_t> word_starts;  ///< masked_language with whole words: as tasks/masking.h has them
  // question
  TokenSpan context;
  std::vector<int64_t> offsets;    ///< byte of the context where each of its tokens begins, and where the last ends
  std::vector<TokenSpan> answers;  ///< those that the sequence holds whole, as tokens of it
};

/// How records become examples.
struct SequenceOptions {
  const Tokenizer* tokenizer = nullptr;
  models::SpecialTokens special;
  models::HeadKind kind = models::HeadKind::masked_language;
  int64_t length = 1024;     ///< tokens of a sequence at the most; at least 8
  bool whole_words = false;  ///< fill Example::word_starts
};

/// The examples of one file or split.
struct ExampleSet {
  models::HeadKind kind = models::HeadKind::masked_language;
  std::vector<Example> examples;
  std::vector<std::vector<std::string>> label_names;  ///< as the records have them, for each example
  std::vector<QuestionRecord> questions;              ///< of each example
  std::vector<RecordPlace> places;                    ///< where each example's record begins
  // What a person should know.
  int64_t records = 0;
  int64_t truncated = 0;       ///< records whose end no sequence has
  int64_t lost_answers = 0;    ///< of these, questions all of whose answers lie behind the cut
  int64_t longest_record = 0;  ///< tokens that the longest one would have

  int64_t size() const { return static_cast<int64_t>(examples.size()); }
  int64_t tokens() const;  ///< in all sequences
};

/// Adds one record. InputError "<file>:<line>: ..." for a text that the tokenizer cannot read or that has no token.
///
/// masked_language: pieces of as many tokens as fit, each a sequence, so that nothing is lost. Otherwise a text that is
/// too long is cut at its end; of a question no more than half a sequence is kept, and the context is cut.
void add_record(ExampleSet& set, const SequenceOptions& options, TextRecord&& record);
void add_record(ExampleSet& set, const SequenceOptions& options, QuestionRecord&& record);

/// Reads files (data/records.h) and adds every record; labels, too, are left unread where RecordOptions::read_answers
/// is off.
ExampleSet read_examples(const RecordOptions& records, const SequenceOptions& options, Progress& progress);

/// Every label of the set, each once, in the order of LabelSet.
std::vector<std::string> labels_of(const ExampleSet& set);
/// Sets Example::labels. InputError, naming the record, for a label that is not among `labels`.
void number_labels(ExampleSet& set, const std::vector<std::string>& labels);

/// InputError, "task: <name> ...", unless every example of a classification has its label in numbers.
void check_labels(const ExampleSet& set, const std::string& name);

/// The head for a training set: its labels, and whether answers may be empty. InputError when there are too few labels.
models::HeadConfig head_for(const ExampleSet& train, models::HeadConfig head);

/// Drops questions whose answers all lie behind the cut: nothing can be learnt from them where answers are never empty.
/// Returns how many.
int64_t drop_lost_answers(ExampleSet& set);

/// Text of the answer that tokens `span` of a question's sequence stand for, without blanks around it.
std::string answer_text(const Example& example, std::string_view context, TokenSpan span);

}  // namespace longspan::tasks
