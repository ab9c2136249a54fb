#include "longspan/data/document_cutter.h"

#include <algorithm>
#include <random>

#include "tests/io/scratch_folder.h"

namespace longspan {
namespace {

struct Cut {
  std::vector<std::string> documents;
  std::vector<int64_t> offsets;
};

/// Files, each `chunk` bytes at a time, cut into documents; empty ones are left out.
Cut cut(DocumentRule rule, const std::vector<std::string>& files, std::size_t chunk,
        const std::string& separator = "") {
  Cut out;
  std::string document;
  int64_t begin = 0, next = 0;
  DocumentCutter cutter(
      rule, separator,
      [&](std::string_view text, int64_t offset) {
        EXPECT_FALSE(text.empty());
        if (document.empty())
          begin = offset;
        else
          EXPECT_EQ(offset, next);
        document += text;
        next = offset + static_cast<int64_t>(text.size());
      },
      [&] {
        if (!document.empty()) {
          out.documents.push_back(document);
          out.offsets.push_back(begin);
        }
        document.clear();
      });
  for (const std::string& file : files) {
    for (std::size_t at = 0; at < file.size(); at += chunk) cutter.push(std::string_view(file).substr(at, chunk));
    cutter.finish();
  }
  return out;
}

using Documents = std::vector<std::string>;

void expect(DocumentRule rule, const std::vector<std::string>& files, const Documents& expected,
            const std::string& separator = "") {
  for (std::size_t chunk = 1; chunk <= 40; ++chunk) EXPECT_EQ(cut(rule, files, chunk, separator).documents, expected);
}

TEST(DocumentCutter, Files) { expect(DocumentRule::file, {"a\n\nb\n", "", "c"}, {"a\n\nb\n", "c"}); }

TEST(DocumentCutter, Lines) {
  expect(DocumentRule::line, {"a\nbc\r\nd"}, {"a\n", "bc\r\n", "d"});
  expect(DocumentRule::line, {"\n\r\na\n\n\nb\n\n", "c\n"}, {"\n\r\na\n\n\n", "b\n\n", "c\n"});
  expect(DocumentRule::line, {"\n\n"}, {"\n\n"});
}

TEST(DocumentCutter, EmptyLines) {
  expect(DocumentRule::blank, {"a\nb\n\nc\n"}, {"a\nb\n\n", "c\n"});
  expect(DocumentRule::blank, {"\n\na\r\nb\r\n\r\n\r\nc\nd\n\n", "e"}, {"\n\na\r\nb\r\n\r\n\r\n", "c\nd\n\n", "e"});
  expect(DocumentRule::blank, {"a\n \nb"}, {"a\n \nb"});  // a blank is text
}

TEST(DocumentCutter, Separators) {
  expect(DocumentRule::separator, {"a<|end|>b\n<|end|>"}, {"a", "b\n"}, "<|end|>");
  expect(DocumentRule::separator, {"<|end|><|end|>a<|<|end|>", "b<|end|"}, {"a<|", "b<|end|"}, "<|end|>");
  expect(DocumentRule::separator, {"aabaaab"}, {"b", "ab"}, "aa");
  expect(DocumentRule::separator, {std::string("a\0b\0", 4)}, {"a", "b"}, std::string(1, '\0'));
}

TEST(DocumentCutter, OffsetsAreThoseInTheFile) {
  const Cut got = cut(DocumentRule::separator, {"abc--de----f", "--g"}, 2, "--");
  EXPECT_EQ(got.documents, (Documents{"abc", "de", "f", "g"}));
  EXPECT_EQ(got.offsets, (std::vector<int64_t>{0, 5, 11, 2}));
}

TEST(DocumentCutter, NothingIsLostHoweverItArrives) {
  std::mt19937 draw(7);
  for (int round = 0; round < 200; ++round) {
    std::string text(draw() % 60, ' ');
    for (char& c : text) c = "a\n\r"[draw() % 3];
    for (const auto rule : {DocumentRule::line, DocumentRule::blank}) {
      const Documents whole = cut(rule, {text}, text.size() + 1).documents;
      std::string joined;
      for (const auto& document : whole) joined += document;
      EXPECT_EQ(joined, text);
      for (const std::size_t chunk : {1, 2, 3, 7}) EXPECT_EQ(cut(rule, {text}, chunk).documents, whole) << text;
    }
  }
}

TEST(DocumentCutter, ASeparatorAndItsRuleGoTogether) {
  EXPECT_THROW(DocumentCutter(DocumentRule::separator, "", {}, {}), InputError);
  EXPECT_THROW(DocumentCutter(DocumentRule::line, "x", {}, {}), InputError);
}

}  // namespace
}  // namespace longspan
