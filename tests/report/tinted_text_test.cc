#include "longspan/report/tinted_text.h"

#include <gtest/gtest.h>

#include "count.h"

namespace longspan::report {
namespace {

TEST(TintedText, NeighboursOfOneTintShareAnElement) {
  const std::string html = to_html({{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 0.5}, {"d", -1, 1}, {"e", 0, 0}});
  EXPECT_EQ(count(html, "<span"), 2);
  EXPECT_NE(html.find("<span class=\"s2 l4\">ab</span><span class=\"s2 l2\">c</span>de</div>"), std::string::npos)
      << html;
}

TEST(TintedText, KeysAndEscapes) {
  const std::string html = to_html({{"<script>", 0, 1}}, {{0, "slot <1>"}});
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_NE(html.find("slot &lt;1&gt;</li>"), std::string::npos);
}

TEST(TintedText, ACharacterInPiecesStaysWhole) {
  EXPECT_NE(to_html({{"\xC3", 0, 1}, {"\xA9", 0, 1}}).find("\xC3\xA9"), std::string::npos);
}

}  // namespace
}  // namespace longspan::report
