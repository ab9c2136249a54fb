// Labelled texts and questions with their answers, from the user's files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "longspan/base/progress.h"
#include "longspan/data/document_cutter.h"

namespace longspan {

/// Where a record begins.
struct RecordPlace {
  std::shared_ptr<const std::string> file;  ///< the path, or "standard input"
  int64_t line = 0;                         ///< from 1
  /// "file:line", which begins every message about the record.
  std::string text() const;
};

/// A text, with its labels where they were asked for.
struct TextRecord {
  std::string text;                 ///< not empty
  std::vector<std::string> labels;  ///< as in the file, each once
  RecordPlace place;
  std::string id = {};  ///< of the field of that name, "" where there is none
};

/// Bytes `begin` up to `end` of a context, at the borders of characters; not empty.
struct AnswerSpan {
  int64_t begin = 0, end = 0;
  bool operator==(const AnswerSpan&) const = default;
};

/// A question about a text that holds the answer.
struct QuestionRecord {
  std::string question, context;    ///< not empty
  std::vector<AnswerSpan> answers;  ///< any of them is right; none: the context does not answer it
  RecordPlace place;
  std::string id = {};
  std::vector<std::string> aliases = {};  ///< right answers as well, wherever they stand

  /// Whether the right answer is the empty one.
  bool has_none() const { return answers.empty() && aliases.empty(); }
  /// All that counts as right.
  std::vector<std::string> right_answers() const;
};

/// A question with some answers to choose from, and a text to choose by.
struct ChoiceRecord {
  std::string question, context;
  std::vector<std::string> candidates;  ///< at least two, none twice
  int64_t answer = -1;                  ///< number of the right one; -1 where it was not read
  RecordPlace place;
  std::string id = {};
};

enum class RecordFormat {
  automatic,  ///< by the name, a .gz, .xz or .zst apart: .jsonl, .ndjson and .json; .csv; .tsv; any other: plain text
  jsonl,      ///< JSON Lines: an object in each line
  csv,        ///< RFC 4180 with a header line that names the columns
  text,       ///< plain text: documents without labels
};

/// What labels a text has.
enum class RecordLabels {
  none,     ///< they are not read
  one,      ///< the field `label`: text, a whole number or a truth value
  several,  ///< the field `labels`: a list of such, which may be empty, or one alone
};

struct RecordOptions {
  /// Files, folders or "-", as find_inputs() takes them; gzip, xz and zstd archives are unpacked.
  std::vector<std::string> inputs;
  RecordFormat format = RecordFormat::automatic;
  /// Names of the fields (JSON Lines) or columns (CSV); others are passed over.
  std::string text_field = "text", label_field = "label", labels_field = "labels";
  std::string question_field = "question", context_field = "context", answers_field = "answers";
  std::string aliases_field = "aliases", candidates_field = "candidates", supports_field = "supports";
  std::string answer_field = "answer", id_field = "id";
  /// Off: the answers of questions are not read, and need not be there.
  bool read_answers = true;
  /// Of CSV: between columns; 0: a comma, in .tsv files a tab.
  char delimiter = 0;
  /// Of CSV: between the labels, aliases or candidates of one cell; not empty.
  std::string list_separator = ";";
  /// Of plain text: what a document is. The line breaks at the end of a document are left out, other than of a file.
  DocumentRule documents = DocumentRule::file;
  std::string separator;  ///< of documents, for DocumentRule::separator
  /// CSV and plain text must be UTF-8 (JSON and labels must be always). Off only where tokens are bytes.
  bool utf8 = true;
};

/// A line of JSON, a record of CSV or a document of plain text may have so many bytes: 64 MiB.
inline constexpr int64_t kLargestRecord = int64_t{64} << 20;

/// Reads the records one after the other, in the order of the files. A byte order mark of UTF-8 and carriage returns
/// before line breaks are no part of anything; empty lines are passed over. `progress` gets the messages of
/// find_inputs().
///
/// Throws InputError "<file>:<line>[:<column>]: ..." for what is no record: bad JSON or CSV, a quote that is not
/// closed, a field that is missing, empty or of the wrong type, text that is not UTF-8, a record beyond kLargestRecord;
/// InputError "<file>: ..." for what find_inputs() and unpacked() refuse, an empty file, one without a record, labels
/// asked of plain text. RunError when reading fails.
void read_text_records(const RecordOptions& options, RecordLabels labels, Progress& progress,
                       const std::function<void(TextRecord&&)>& on_record);

/// The same for questions, which plain text has none of. The field `aliases`, a text or a list of them, need not be
/// there. An answer in the field `answers`, a list or one alone, is
/// - text: where it stands first in the context;
/// - an object {"text": ..., "start": ...}: `start` counts bytes of the context in UTF-8; or "answer_start", which
///   counts characters, as SQuAD does. With {"start": ..., "end": ...} the text may be missing.
/// One object of lists, {"text": [...], "answer_start": [...]}, is taken too. In CSV there is one answer or none: its
/// text in the cell, or columns `start`, `end` and `answer_start` beside or instead of it.
/// Throws as above, and for an answer that the context does not have, or not there.
void read_question_records(const RecordOptions& options, Progress& progress,
                           const std::function<void(QuestionRecord&&)>& on_record);

/// The same for questions with candidates, a list of texts. The field `context`, or where there is none `supports`, is
/// a text or a list of them, which are put one below the other; `answer` is one of the candidates. Throws as above, and
/// for fewer than two candidates, one that stands twice, and an answer that is none of them.
void read_choice_records(const RecordOptions& options, Progress& progress,
                         const std::function<void(ChoiceRecord&&)>& on_record);

/// All of them at once.
std::vector<TextRecord> read_text_records(const RecordOptions& options, RecordLabels labels, Progress& progress);
std::vector<QuestionRecord> read_question_records(const RecordOptions& options, Progress& progress);
std::vector<ChoiceRecord> read_choice_records(const RecordOptions& options, Progress& progress);

}  // namespace longspan
