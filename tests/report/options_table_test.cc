#include "longspan/report/options_table.h"

#include <gtest/gtest.h>

namespace longspan::report {
namespace {

TEST(OptionsTable, EveryValueByItsPathInOrder) {
  const Table table =
      options_table({{"value", {{"a", {{"x", 1}, {"deep", {{"y", "text"}}}}}, {"b", nullptr}, {"c", 0.5}}}});
  ASSERT_EQ(table.columns.size(), 2u);
  EXPECT_EQ(table.columns[1].title, "value");
  const std::vector<std::vector<std::string>> rows = {{"a.x", "1"}, {"a.deep.y", "text"}, {"b", "null"}, {"c", "0.5"}};
  EXPECT_EQ(table.rows, rows);
}

TEST(OptionsTable, ConfigurationsSideBySide) {
  const Table table = options_table({{"one", {{"a", 1}, {"z", 9}}}, {"two", {{"a", 2}, {"b", 3}, {"z", 9}}}});
  const std::vector<std::vector<std::string>> rows = {{"a", "1", "2"}, {"b", "-", "3"}, {"z", "9", "9"}};
  EXPECT_EQ(table.rows, rows) << "what only the second has stands where it has it";
}

}  // namespace
}  // namespace longspan::report
