#include "longspan/data/records.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/data/csv_reader.h"
#include "longspan/data/input_meter.h"
#include "longspan/data/line_reader.h"
#include "longspan/data/plain_records.h"
#include "longspan/data/record_fields.h"
#include "longspan/data/text_inputs.h"
#include "longspan/io/input_file.h"
#include "longspan/io/unpack.h"
#include "longspan/text/utf8.h"

namespace longspan {

namespace {

constexpr std::string_view kBlank = " \t\r";

/// Passes on what a source gives and tells the meter.
class Metered final : public ByteSource {
 public:
  Metered(ByteSource& text, const InputFile& file, InputMeter& meter) : text_(text), file_(file), meter_(meter) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t got = text_.read(out, size);
    meter_.at(file_.position());
    return got;
  }

 private:
  ByteSource& text_;
  const InputFile& file_;
  InputMeter& meter_;
};

/// Turns one object into a record and hands it on.
using OnObject = std::function<void(const Json& object, RecordPlace place)>;

void read_json_lines(LineReader& lines, const std::shared_ptr<const std::string>& name, const OnObject& on_object) {
  for (std::string_view line; lines.next(line);) {
    const std::size_t first = line.find_first_not_of(kBlank), last = line.find_last_not_of(kBlank);
    if (first == std::string_view::npos) continue;
    RecordPlace place{name, lines.number()};
    LONGSPAN_CHECK(first != last || (line[first] != '{' && line[first] != '['), place.text(),
                   ": begins a JSON value of several lines; expected JSON Lines, an object in each line");
    const Json object = parse_json(line, *name, lines.number());
    LONGSPAN_CHECK(object.is_object(), place.text(), ": expected an object in each line (JSON Lines), got ",
                   object.type_name());
    on_object(object, std::move(place));
  }
}

/// The columns of a file by name.
std::vector<std::string> header_of(CsvReader& reader, const std::string& name, bool utf8) {
  std::vector<std::string> header;
  if (!reader.next(header)) return header;
  const std::string place = str_cat(name, ":", reader.line());
  for (auto column = header.begin(); column != header.end(); ++column) {
    LONGSPAN_CHECK(!utf8 || invalid_utf8(*column) == std::string_view::npos, place,
                   ": a name of a column is not UTF-8");
    LONGSPAN_CHECK(column->empty() || std::find(header.begin(), column, *column) == column, place, ": the column '",
                   *column, "' stands twice");
  }
  return header;
}

void check_cell(const std::string& cell, const std::string& column, const RecordPlace& place) {
  const std::string fault = utf8_fault(cell, 0);
  LONGSPAN_CHECK(fault.empty(), place.text(), ": '", column, "' ", fault);
}

using OnRow = std::function<void(Json row, RecordPlace place)>;

/// Each row as an object of texts.
void read_rows(LineReader& lines, char delimiter, bool utf8, const std::shared_ptr<const std::string>& name,
               const OnRow& on_row) {
  CsvReader reader(lines, delimiter);
  const std::vector<std::string> header = header_of(reader, *name, utf8);
  for (std::vector<std::string> cells; reader.next(cells);) {
    RecordPlace place{name, reader.line()};
    LONGSPAN_CHECK(cells.size() == header.size(), place.text(), ": expected ", header.size(),
                   " fields as in the header, got ", cells.size());
    Json row = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (utf8) check_cell(cells[i], header[i], place);
      if (!header[i].empty()) row[header[i]] = std::move(cells[i]);
    }
    on_row(std::move(row), std::move(place));
  }
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kBlank) + 1 - first));
}

/// A cell of several labels as a list; without any where it is empty.
Json list_of(std::string_view cell, std::string_view separator) {
  Json list = Json::array();
  if (trimmed(cell).empty()) return list;
  while (true) {
    const std::size_t end = std::min(cell.find(separator), cell.size());
    list.push_back(trimmed(cell.substr(0, end)));
    if (end == cell.size()) return list;
    cell.remove_prefix(end + separator.size());
  }
}

/// Makes a list of the cell of that column, if there is one.
void split_cell(Json& row, const std::string& column, std::string_view separator) {
  if (const auto cell = row.find(column); cell != row.end()) *cell = list_of(cell->get<std::string>(), separator);
}

/// What the columns of a row say about the answer, as JSON has it; an empty list where they are empty.
Json answer_of(const Json& row, const std::string& answers_field, const RecordPlace& place) {
  Json answer = Json::object();
  if (const auto text = row.find(answers_field); text != row.end() && !text->get_ref<const std::string&>().empty())
    answer["text"] = *text;
  for (const char* name : {"start", "end", "answer_start"}) {
    const auto at = row.find(name);
    if (at == row.end() || at->get_ref<const std::string&>().empty()) continue;
    const std::string text = trimmed(at->get_ref<const std::string&>());
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    LONGSPAN_CHECK(error == std::errc() && end == text.data() + text.size(), place.text(), ": '", name,
                   "' must be a whole number from 0, got ", internal::excerpt(text));
    answer[name] = value;
  }
  return answer.empty() ? Json::array() : answer;
}

/// The name without the ending of an archive.
std::string_view inner_name(std::string_view name) {
  for (const std::string_view ending : {".gz", ".xz", ".zst"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return name;
}

RecordFormat format_of(const RecordOptions& options, std::string_view name) {
  if (options.format != RecordFormat::automatic) return options.format;
  name = inner_name(name);
  for (const std::string_view ending : {".jsonl", ".ndjson", ".json"})
    if (name.ends_with(ending)) return RecordFormat::jsonl;
  return name.ends_with(".csv") || name.ends_with(".tsv") ? RecordFormat::csv : RecordFormat::text;
}

/// What one kind of record needs of the formats.
struct Way {
  const char* wants;  ///< what plain text lacks; null: nothing
  OnObject on_object;
  OnRow on_row;
  std::function<void(std::string text, RecordPlace place)> on_document;
};

void read_records(const RecordOptions& options, Progress& progress, const Way& way) {
  LONGSPAN_CHECK(!options.list_separator.empty(), "records: the separator of lists must not be empty");
  LONGSPAN_CHECK(options.delimiter != '"' && options.delimiter != '\n' && options.delimiter != '\r',
                 "records: the delimiter of CSV must not be a quote or a line break");
  const std::vector<TextInput> inputs = find_inputs(options.inputs, progress);
  InputMeter meter("read", progress);
  meter.expect(inputs);
  for (const TextInput& input : inputs) {
    meter.next();
    InputFile file(input.path, [&] { meter.wait(); });
    const auto name = std::make_shared<const std::string>(file.name());
    const auto text = unpacked(file, *name);
    Metered source(*text, file, meter);
    int64_t records = 0;
    bool any = false;
    const RecordFormat format = format_of(options, *name);
    if (format == RecordFormat::text) {
      LONGSPAN_CHECK(!way.wants, *name, ": plain text has no ", way.wants,
                     "; expected JSON Lines (.jsonl) or CSV (.csv), by the name or by the format given");
      any = read_plain_records(source, options, name, [&](std::string document, RecordPlace place) {
        ++records;
        way.on_document(std::move(document), std::move(place));
      });
    } else {
      LineReader lines(source, *name);
      if (format == RecordFormat::jsonl) {
        read_json_lines(lines, name, [&](const Json& object, RecordPlace place) {
          ++records;
          way.on_object(object, std::move(place));
        });
      } else {
        const char delimiter = options.delimiter ? options.delimiter : inner_name(*name).ends_with(".tsv") ? '\t' : ',';
        read_rows(lines, delimiter, options.utf8, name, [&](Json row, RecordPlace place) {
          ++records;
          way.on_row(std::move(row), std::move(place));
        });
      }
      any = lines.any();
    }
    LONGSPAN_CHECK(any || input.found, *name, ": is empty");
    LONGSPAN_CHECK(records > 0 || !any, *name, ": holds no record");
  }
}

}  // namespace

std::string RecordPlace::text() const { return str_cat(file ? *file : std::string("record"), ":", line); }

std::vector<std::string> QuestionRecord::right_answers() const {
  std::vector<std::string> out;
  for (const AnswerSpan& span : answers)
    out.push_back(
        context.substr(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end - span.begin)));
  out.insert(out.end(), aliases.begin(), aliases.end());
  return out;
}

void read_text_records(const RecordOptions& options, RecordLabels labels, Progress& progress,
                       const std::function<void(TextRecord&&)>& on_record) {
  const OnObject on_object = [&](const Json& object, RecordPlace place) {
    on_record(internal::text_record(object, options, labels, std::move(place)));
  };
  const OnRow on_row = [&](Json row, RecordPlace place) {
    if (labels == RecordLabels::several) split_cell(row, options.labels_field, options.list_separator);
    on_object(row, std::move(place));
  };
  read_records(
      options, progress,
      {labels == RecordLabels::none ? nullptr : "labels", on_object, on_row, [&](std::string text, RecordPlace place) {
         on_record({std::move(text), {}, std::move(place)});
       }});
}

void read_question_records(const RecordOptions& options, Progress& progress,
                           const std::function<void(QuestionRecord&&)>& on_record) {
  const OnObject on_object = [&](const Json& object, RecordPlace place) {
    on_record(internal::question_record(object, options, std::move(place)));
  };
  const OnRow on_row = [&](Json row, RecordPlace place) {
    if (options.read_answers &&
        (row.contains(options.answers_field) || row.contains("start") || row.contains("answer_start")))
      row[options.answers_field] = answer_of(row, options.answers_field, place);
    split_cell(row, options.aliases_field, options.list_separator);
    on_object(row, std::move(place));
  };
  read_records(options, progress, {"questions", on_object, on_row, {}});
}

void read_choice_records(const RecordOptions& options, Progress& progress,
                         const std::function<void(ChoiceRecord&&)>& on_record) {
  const OnObject on_object = [&](const Json& object, RecordPlace place) {
    on_record(internal::choice_record(object, options, std::move(place)));
  };
  const OnRow on_row = [&](Json row, RecordPlace place) {
    split_cell(row, options.candidates_field, options.list_separator);
    on_object(row, std::move(place));
  };
  read_records(options, progress, {"questions", on_object, on_row, {}});
}

std::vector<TextRecord> read_text_records(const RecordOptions& options, RecordLabels labels, Progress& progress) {
  std::vector<TextRecord> records;
  read_text_records(options, labels, progress, [&](TextRecord&& record) { records.push_back(std::move(record)); });
  return records;
}

std::vector<QuestionRecord> read_question_records(const RecordOptions& options, Progress& progress) {
  std::vector<QuestionRecord> records;
  read_question_records(options, progress, [&](QuestionRecord&& record) { records.push_back(std::move(record)); });
  return records;
}

std::vector<ChoiceRecord> read_choice_records(const RecordOptions& options, Progress& progress) {
  std::vector<ChoiceRecord> records;
  read_choice_records(options, progress, [&](ChoiceRecord&& record) { records.push_back(std::move(record)); });
  return records;
}

}  // namespace longspan
