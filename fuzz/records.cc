// Records of the user's files: a line with the ending of the name ("jsonl", "csv", "tsv", "txt") and what is read
// ("label", "labels", "question", "choice", "line"), a line "=", the file.
#include "longspan/data/records.h"

#include "fuzz/fuzz.h"
#include "longspan/base/check.h"
#include "longspan/text/utf8.h"

namespace longspan::fuzz {
namespace {

void check_place(const RecordPlace& place, std::string_view file) {
  FUZZ_CHECK(place.line >= 1);
  FUZZ_CHECK(place.line <= 1 + std::count(file.begin(), file.end(), '\n'));
}

void check_texts(const RecordOptions& options, RecordLabels labels, std::string_view file) {
  NullProgress progress;
  const auto records = read_text_records(options, labels, progress);
  FUZZ_CHECK(!records.empty());
  for (const TextRecord& record : records) {
    check_place(record.place, file);
    FUZZ_CHECK(!record.text.empty() && invalid_utf8(record.text) == std::string_view::npos);
    FUZZ_CHECK(labels != RecordLabels::one || record.labels.size() == 1);
    for (const std::string& label : record.labels) FUZZ_CHECK(!label.empty());
    if (options.documents == DocumentRule::line && labels == RecordLabels::none && options.inputs[0].ends_with(".txt"))
      FUZZ_CHECK(record.text.find('\n') == std::string::npos || record.text.front() == '\n' ||
                 record.text.front() == '\r');
  }
}

void check_questions(const RecordOptions& options, std::string_view file) {
  NullProgress progress;
  for (const QuestionRecord& record : read_question_records(options, progress)) {
    check_place(record.place, file);
    FUZZ_CHECK(!record.question.empty() && !record.context.empty());
    for (const AnswerSpan& answer : record.answers) {
      FUZZ_CHECK(0 <= answer.begin && answer.begin < answer.end);
      FUZZ_CHECK(answer.end <= static_cast<int64_t>(record.context.size()));
      const auto begin = static_cast<std::size_t>(answer.begin), size = static_cast<std::size_t>(answer.end) - begin;
      FUZZ_CHECK(invalid_utf8(std::string_view(record.context).substr(begin, size)) == std::string_view::npos);
    }
  }
}

void check_choices(const RecordOptions& options, std::string_view file) {
  NullProgress progress;
  for (const ChoiceRecord& record : read_choice_records(options, progress)) {
    check_place(record.place, file);
    FUZZ_CHECK(!record.question.empty() && !record.context.empty());
    FUZZ_CHECK(record.candidates.size() >= 2);
    FUZZ_CHECK(0 <= record.answer && record.answer < static_cast<int64_t>(record.candidates.size()));
    for (const std::string& candidate : record.candidates)
      FUZZ_CHECK(std::count(record.candidates.begin(), record.candidates.end(), candidate) == 1);
  }
}

}  // namespace
}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace longspan;
  static const fuzz::Folder folder;
  const auto parts = fuzz::pieces(fuzz::text_of(data, size), 2);
  std::string ending = "jsonl";
  for (const char* known : {"csv", "tsv", "txt"})
    if (parts[0].starts_with(known)) ending = known;
  RecordOptions options;
  options.inputs = {folder.put("records." + ending, parts[1])};
  if (parts[0].ends_with("line")) options.documents = DocumentRule::line;
  try {
    if (parts[0].ends_with("question"))
      fuzz::check_questions(options, parts[1]);
    else if (parts[0].ends_with("choice"))
      fuzz::check_choices(options, parts[1]);
    else
      fuzz::check_texts(options,
                        parts[0].ends_with("labels")  ? RecordLabels::several
                        : parts[0].ends_with("label") ? RecordLabels::one
                                                      : RecordLabels::none,
                        parts[1]);
  } catch (const InputError&) {
  }
  return 0;
}
