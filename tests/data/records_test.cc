// read_text_records() and read_question_records(): every format, and what each refuses.
#include "longspan/data/records.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "longspan/data/label_set.h"
#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

class Records : public ScratchFolder {
 protected:
  std::vector<TextRecord> texts(const std::string& file, RecordLabels labels = RecordLabels::one) {
    options_.inputs = {file};
    return read_text_records(options_, labels, progress_);
  }
  /// What is wrong with a file of this content, without its path.
  std::string refusal(const std::string& name, const std::string& content, RecordLabels labels = RecordLabels::one) {
    const std::string file = put(name, content);
    const std::string error = error_of([&] { texts(file, labels); });
    EXPECT_TRUE(error.empty() || error.starts_with(file)) << error;
    return error.empty() ? "" : error.substr(file.size());
  }
  static std::string shown(const TextRecord& record) {
    std::string out = std::to_string(record.place.line) + " " + record.text;
    for (const std::string& label : record.labels) out += " [" + label + "]";
    return out;
  }
  static std::vector<std::string> shown(const std::vector<TextRecord>& records) {
    std::vector<std::string> out;
    for (const TextRecord& record : records) out.push_back(shown(record));
    return out;
  }
  using Lines = std::vector<std::string>;

  RecordOptions options_;
  NullProgress progress_;
};

TEST_F(Records, JsonLines) {
  const std::string file = put("a.jsonl",
                               "\xEF\xBB\xBF{\"text\": \"one\", \"label\": \"x\", \"more\": [1]}\r\n"
                               "\n  \r\n"
                               "{\"label\": -3, \"text\": \"zwei\\n\\u00fc\"}\n"
                               "{\"label\": true, \"text\": \"3\"}");
  const auto records = texts(file);
  EXPECT_EQ(shown(records), (Lines{"1 one [x]", "4 zwei\n\xC3\xBC [-3]", "5 3 [true]"}));
  EXPECT_EQ(records[1].place.text(), file + ":4");
  EXPECT_EQ(shown(texts(file, RecordLabels::none)), (Lines{"1 one", "4 zwei\n\xC3\xBC", "5 3"}));
}

TEST_F(Records, SeveralLabels) {
  const std::string file = put("a.jsonl", R"({"text": "a", "labels": ["x", 2, "x", false]}
{"text": "b", "labels": []}
{"text": "c", "labels": "z"})");
  EXPECT_EQ(shown(texts(file, RecordLabels::several)), (Lines{"1 a [x] [2] [false]", "2 b", "3 c [z]"}));
  const std::string csv = put("a.csv", "labels,text\nx; y ;x,a\n,b\n");
  EXPECT_EQ(shown(texts(csv, RecordLabels::several)), (Lines{"2 a [x] [y]", "3 b"}));
  options_.list_separator = "||";
  EXPECT_EQ(shown(texts(put("b.csv", "labels,text\nx||y;z,a\n"), RecordLabels::several)), (Lines{"2 a [x] [y;z]"}));
}

TEST_F(Records, FieldsOfOtherNames) {
  options_.text_field = "review";
  options_.label_field = "stars";
  EXPECT_EQ(shown(texts(put("a.jsonl", R"({"review": "good", "stars": 5})"))), Lines{"1 good [5]"});
  EXPECT_EQ(shown(texts(put("a.csv", "id,stars,review\n7,5,good\n"))), Lines{"2 good [5]"});
  EXPECT_EQ(refusal("b.jsonl", R"({"text": "good", "label": 5})"), ":1: has no field 'review', only: text, label");
}

TEST_F(Records, JsonLinesThatAreRefused) {
  const std::string good = R"({"text": "a", "label": "x"})"
                           "\n";
  EXPECT_EQ(refusal("a.jsonl", good + R"({"text": "a"})"), ":2: has no field 'label', only: text");
  EXPECT_EQ(refusal("a.jsonl", good + "{}"), ":2: has no field 'text'");
  EXPECT_EQ(refusal("a.jsonl", good + R"({"text": 7, "label": "x"})"), ":2: 'text' must be text, got number");
  EXPECT_EQ(refusal("a.jsonl", good + R"({"text": "", "label": "x"})"), ":2: 'text' is empty");
  EXPECT_EQ(refusal("a.jsonl", good + R"({"text": "a", "label": 0.5})"),
            ":2: 'label' must be text, a whole number, true or false, got number");
  EXPECT_EQ(refusal("a.jsonl", good + R"({"text": "a", "label": null})"),
            ":2: 'label' must be text, a whole number, true or false, got null");
  EXPECT_EQ(refusal("a.jsonl", good + R"({"text": "a", "labels": [[]]})", RecordLabels::several),
            ":1: has no field 'labels', only: text, label");
  EXPECT_EQ(refusal("a.jsonl", R"({"text": "a", "labels": [[]]})", RecordLabels::several),
            ":1: 'labels' must be text, a whole number, true or false, got array");
  EXPECT_EQ(refusal("a.jsonl", good + "[1, 2]"), ":2: expected an object in each line (JSON Lines), got array");
  EXPECT_EQ(refusal("a.json", "[\n" + good + "]\n"),
            ":1: begins a JSON value of several lines; expected JSON Lines, an object in each line");
  EXPECT_EQ(refusal("a.jsonl", good + R"({"text": "a", "text": "b"})"),
            ":2:20: the key 'text' stands twice in one object");
  EXPECT_EQ(refusal("a.jsonl", good + "{\"text\": \"caf\xE9\"}").substr(0, 6), ":2:15:");
  EXPECT_EQ(refusal("a.jsonl", good + "{\"text\": ").substr(0, 5), ":2:9:");
  EXPECT_EQ(refusal("a.jsonl", ""), ": is empty");
  EXPECT_EQ(refusal("a.jsonl", "\n \n"), ": holds no record");
  EXPECT_EQ(refusal("a.jsonl", "\xFF\xFE{"), ": is UTF-16, by its first bytes; convert it to UTF-8");
}

TEST_F(Records, ABadLineIsNotRepeatedInFull) {
  const std::string error = refusal("a.jsonl", "{\"text\": \"" + std::string(100000, 'a') + "\n");
  EXPECT_EQ(error.substr(0, 3), ":1:");
  EXPECT_LT(error.size(), 300u);
}

TEST_F(Records, LinesBeyondTheLimit) {
  const std::string huge(static_cast<std::size_t>(kLargestRecord) + 1, 'a');
  const std::string limit = std::to_string(kLargestRecord);
  EXPECT_EQ(refusal("a.jsonl", "\n" + huge + "\n"), ":2: the line is longer than " + limit + " bytes");
  EXPECT_EQ(refusal("a.csv", "text,label\n\"" + huge), ":2: the line is longer than " + limit + " bytes");
  EXPECT_EQ(refusal("b.csv", "text,label\na,b\n\"" + huge.substr(9) + "\n0123456789"),
            ":3:1: the quote that opens here is not closed within " + limit + " bytes");
  EXPECT_EQ(refusal("a.txt", huge, RecordLabels::none), ":1: the document is longer than " + limit + " bytes");
}

TEST_F(Records, Csv) {
  const std::string file = put("a.csv",
                               "\xEF\xBB\xBFlabel,text,\r\n"
                               "x,\"a \"\"b\"\", c\r\nnext line\",\r\n"
                               "\r\n"
                               " y ,plain text,\r\n"
                               "\"\",\"\",\"z\"");
  options_.label_field = "text";
  const auto records = texts(put("b.csv", "text\na\nb"));
  EXPECT_EQ(shown(records), (Lines{"2 a [a]", "3 b [b]"}));
  options_.label_field = "label";
  EXPECT_EQ(error_of([&] { texts(file); }), file + ":6: 'text' is empty");
  put("a.csv", get("a.csv").substr(0, get("a.csv").rfind("\r\n")));
  EXPECT_EQ(shown(texts(file)), (Lines{"2 a \"b\", c\r\nnext line [x]", "5 plain text [ y ]"}));
}

TEST_F(Records, OtherDelimiters) {
  EXPECT_EQ(shown(texts(put("a.tsv", "text\tlabel\na, b\tx\n"))), Lines{"2 a, b [x]"});
  EXPECT_EQ(refusal("a.csv", "text;label\na;b\n"), ":2: has no field 'text', only: text;label");
  options_.delimiter = ';';
  EXPECT_EQ(shown(texts(put("a.csv", "text;label\na;b\n"))), Lines{"2 a [b]"});
}

TEST_F(Records, CsvThatIsRefused) {
  const std::string header = "text,label\n";
  EXPECT_EQ(refusal("a.csv", header + "a,b\n\"a,b\nc,d\n"), ":3:1: the quote that opens here is never closed");
  EXPECT_EQ(refusal("a.csv", header + "a,\"b\"c\n"),
            ":2:6: expected the end of the field after a closing quote (a quote within one is doubled)");
  EXPECT_EQ(refusal("a.csv", header + "a,b \"c\"\n"), ":2:5: a quote within a field that does not begin with one");
  EXPECT_EQ(refusal("a.csv", header + "a\n"), ":2: expected 2 fields as in the header, got 1");
  EXPECT_EQ(refusal("a.csv", header + "a,b,\n"), ":2: expected 2 fields as in the header, got 3");
  EXPECT_EQ(refusal("a.csv", "text,text\na,b\n"), ":1: the column 'text' stands twice");
  EXPECT_EQ(refusal("a.csv", header + "a,\n"), ":2: 'label' is empty");
  EXPECT_EQ(refusal("a.csv", header), ": holds no record");
  EXPECT_EQ(refusal("a.csv", header + "a\xFF,b\n"),
            ":2: 'text' is not UTF-8 at byte 1 of the text (0xff); convert it, or use the tokenizer bytes");
  options_.utf8 = false;
  EXPECT_EQ(refusal("a.csv", header + "a\xFF,b\n"), "");
  EXPECT_EQ(refusal("a.csv", header + "a,b\xFF\n"),
            ":2: 'label' is not UTF-8 at byte 1 of the text (0xff); convert it, or use the tokenizer bytes");
}

TEST_F(Records, PlainText) {
  const std::string file = put("a.txt", "\xEF\xBB\xBFone\r\n\r\n\ntwo\nthree\n");
  EXPECT_EQ(shown(texts(file, RecordLabels::none)), Lines{"1 one\r\n\r\n\ntwo\nthree\n"});
  options_.documents = DocumentRule::line;
  EXPECT_EQ(shown(texts(file, RecordLabels::none)), (Lines{"1 one", "4 two", "5 three"}));
  options_.documents = DocumentRule::blank;
  EXPECT_EQ(shown(texts(file, RecordLabels::none)), (Lines{"1 one", "4 two\nthree"}));
  EXPECT_EQ(refusal("b.txt", "a\n\nb\nc\xC3\n", RecordLabels::none),
            ":3: the document is not UTF-8 at byte 3 of the text (0xc3); convert it, or use the tokenizer bytes");
  options_.documents = DocumentRule::separator;
  options_.separator = "--\n";
  EXPECT_EQ(shown(texts(put("c.txt", "a\n--\n--\nb"), RecordLabels::none)), (Lines{"1 a\n", "4 b"}));
  EXPECT_EQ(
      refusal("a.txt", "text"),
      ": plain text has no labels; expected JSON Lines (.jsonl) or CSV (.csv), by the name or by the format given");
  EXPECT_EQ(refusal("a.txt", "", RecordLabels::none), ": is empty");
}

TEST_F(Records, ArchivesFoldersAndTheFormatGiven) {
  std::filesystem::create_directory(path("in"));
  gzFile archive = ::gzopen(path("in/a.jsonl.gz").c_str(), "wb");
  ::gzputs(archive, "{\"text\": \"a\", \"label\": 1}\n");
  ::gzclose(archive);
  put("in/b.csv", "text,label\nb,2\n");
  put("in/c.csv", "");  // found in a folder, it may be empty
  EXPECT_EQ(shown(texts(path("in"))), (Lines{"1 a [1]", "2 b [2]"}));
  const std::string file = put("data", "{\"text\": \"a\", \"label\": 1}\n");
  options_.format = RecordFormat::jsonl;
  EXPECT_EQ(shown(texts(file)), Lines{"1 a [1]"});
}

TEST_F(Records, LabelsAndTheirClasses) {
  const LabelSet numbers(std::vector<std::string>{"10", "2", "-1", "-12", "b", "02", "a", "2"});
  EXPECT_EQ(numbers.names(), (Lines{"-12", "-1", "2", "10", "02", "a", "b"}));
  const auto records = texts(put("a.jsonl", R"({"text": "a", "label": "no"}
{"text": "b", "label": "maybe"}
{"text": "b", "label": "no"})"));
  const LabelSet labels{std::span<const TextRecord>(records)};
  EXPECT_EQ(labels.names(), (Lines{"maybe", "no"}));
  EXPECT_EQ(labels.index("no", records[0].place), 1);
  EXPECT_EQ(error_of([&] { labels.index("yes", records[2].place); }),
            path("a.jsonl") + ":3: unknown label 'yes'; known: maybe, no");
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back("class-" + std::to_string(i));
  EXPECT_EQ(error_of([&] { LabelSet(many).index("class-7x", records[0].place); }),
            path("a.jsonl") + ":1: unknown label 'class-7x'; did you mean 'class-7'?");
}

}  // namespace
}  // namespace longspan
