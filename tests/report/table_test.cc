#include "longspan/report/table.h"

#include <gtest/gtest.h>

#include "longspan/base/check.h"

namespace longspan::report {
namespace {

Table small() {
  Table table;
  table.columns = {{"name"}, {"n", true}};
  table.rows = {{"lavo", "7"}, {"a<b", "123"}};
  return table;
}

TEST(Table, TextIsAlignedAndHasNoTrailingBlanks) {
  EXPECT_EQ(to_text(small()),
            "name    n\n"
            "----  ---\n"
            "lavo    7\n"
            "a<b   123\n");
}

TEST(Table, HtmlEscapesCells) {
  const std::string html = to_html(small());
  EXPECT_NE(html.find("<td>a&lt;b</td><td class=\"n\">123</td>"), std::string::npos);
  EXPECT_EQ(html.find("a<b"), std::string::npos);
}

TEST(Table, MarkdownEscapesBars) {
  Table table = small();
  table.rows.push_back({"a|b", "1"});
  const std::string text = to_markdown(table);
  EXPECT_NE(text.find("|---|---:|\n| lavo | 7 |\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| a\\|b | 1 |\n"), std::string::npos) << text;
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table = small();
  table.rows.push_back({"one"});
  EXPECT_THROW(to_text(table), InternalError);
  EXPECT_THROW(to_html(table), InternalError);
}

}  // namespace
}  // namespace longspan::report
