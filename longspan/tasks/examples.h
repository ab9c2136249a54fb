// Records as the tokens and targets of a task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "longspan/data/records.h"
#include "longspan/models/encoder_config.h"
#include "longspan/models/encoder_heads.h"
#include "longspan/tasks/windows.h"
#include "longspan/text/tokenizer.h"

namespace longspan::tasks {

/// An answer that a sequence holds whole.
struct HeldAnswer {
  int64_t number = 0;  ///< among the answers of its record
  TokenSpan tokens;    ///< of the sequence
  bool operator==(const HeldAnswer&) const = default;
};

/// What the model reads at once:
///   first text separator;
///   first question separator separator context separator;
///   first question separator separator candidate separator ... candidate separator separator context separator;
/// where two separators stand in a row, there are SpecialTokens::between.
struct Sequence {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> word_starts;  ///< masked_language with whole words: as tasks/masking.h has them
  TokenSpan context;                 ///< question and choice
  std::vector<int64_t> offsets;      ///< question: byte of the whole context where each of the context's tokens begins,
                                     ///< and where the last ends
  std::vector<HeldAnswer> answers;   ///< question
  std::vector<int64_t> candidates;   ///< choice: token behind each candidate, a separator
};

/// What a step draws and a measurement counts: a piece of a text for masked_language, else a record.
struct Example {
  std::vector<Sequence> windows;  ///< at least one; several of a document longer than a sequence, in order
  std::vector<int64_t> labels;    ///< numbers, ascending; classification: one
  int64_t tokens() const;         ///< in all windows
  /// Numbers of the windows that hold an answer to be learnt, ascending.
  std::vector<int64_t> answering(LearnAnswers learn) const;
  /// Number of the first answer that any window holds, or -1.
  int64_t first_answer() const;
};

/// How records become examples.
struct SequenceOptions {
  const Tokenizer* tokenizer = nullptr;
  models::SpecialTokens special;
  models::HeadKind kind = models::HeadKind::masked_language;
  int64_t length = 1024;     ///< tokens of a sequence at the most; at least 8
  bool whole_words = false;  ///< fill Sequence::word_starts
  bool windows = false;      ///< read a longer text in windows instead of cutting it; not for masked_language
  int64_t stride = 0;        ///< of windows, see WindowOptions
};

/// The examples of one file or split.
struct ExampleSet {
  models::HeadKind kind = models::HeadKind::masked_language;
  std::vector<Example> examples;
  std::vector<std::vector<std::string>> label_names;  ///< as the records have them, for each example
  std::vector<QuestionRecord> questions;              ///< of each example
  std::vector<ChoiceRecord> choices;                  ///< of each example
  std::vector<RecordPlace> places;                    ///< where each example's record begins
  std::vector<std::string> ids;                       ///< of each example's record
  // What a person should know.
  int64_t records = 0;
  int64_t truncated = 0;       ///< records whose end no sequence has
  int64_t windowed = 0;        ///< records that are read in several windows
  int64_t lost_answers = 0;    ///< questions none of whose answers a sequence holds whole
  int64_t longest_record = 0;  ///< tokens that the longest one would have in one sequence

  int64_t size() const { return static_cast<int64_t>(examples.size()); }
  int64_t sequences() const;
  int64_t tokens() const;  ///< in all sequences
};

/// Adds one record. InputError "<file>:<line>: ..." for a text that the tokenizer cannot read or that has no token, and
/// for candidates that leave less than an eighth of a sequence to the context.
///
/// masked_language: pieces of as many tokens as fit, each an example, so that nothing is lost. Otherwise a text or a
/// context that is too long is read in windows, with the question and the candidates before each, or cut at its end. Of
/// a question no more than half a sequence is kept.
void add_record(ExampleSet& set, const SequenceOptions& options, TextRecord&& record);
void add_record(ExampleSet& set, const SequenceOptions& options, QuestionRecord&& record);
void add_record(ExampleSet& set, const SequenceOptions& options, ChoiceRecord&& record);

/// Reads files (data/records.h) and adds every record; labels, too, are left unread where RecordOptions::read_answers
/// is off.
ExampleSet read_examples(const RecordOptions& records, const SequenceOptions& options, Progress& progress);

/// Every label of the set, each once, in the order of LabelSet.
std::vector<std::string> labels_of(const ExampleSet& set);
/// Sets Example::labels. InputError, naming the record, for a label that is not among `labels`.
void number_labels(ExampleSet& set, const std::vector<std::string>& labels);

/// InputError, "task: <name> ...", unless every example of a classification has its label in numbers and every choice
/// its answer.
void check_labels(const ExampleSet& set, const std::string& name);

/// The head for a training set: its labels, and whether answers may be empty. InputError when there are too few labels.
models::HeadConfig head_for(const ExampleSet& train, models::HeadConfig head);

/// Drops questions none of whose answers a sequence holds whole: nothing can be learnt from them where answers are
/// never empty. Returns how many.
int64_t drop_lost_answers(ExampleSet& set);

/// Bytes of the context that tokens `span` of a question's sequence stand for, whole characters where they begin or end
/// inside one, without blanks and controls of any script around them. Empty for these alone.
AnswerSpan answer_bytes(const Sequence& sequence, std::string_view context, TokenSpan span);

}  // namespace longspan::tasks
