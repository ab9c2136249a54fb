#include "longspan/report/html.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "count.h"
#include "longspan/base/check.h"

namespace longspan::report {
namespace {

TEST(Html, EscapesEverythingGiven) {
  HtmlPage page("a & b");
  page.heading("<h>");
  page.paragraph("\"quoted\" & 'single'");
  page.preformatted("</pre><script>");
  const std::string html = page.html();
  EXPECT_NE(html.find("<title>a &amp; b</title>"), std::string::npos);
  EXPECT_NE(html.find("<h2>&lt;h&gt;</h2>"), std::string::npos);
  EXPECT_NE(html.find("&quot;quoted&quot; &amp; &#39;single&#39;"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(Html, ReplacesWhatIsNoText) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(escape("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
  EXPECT_EQ(escape("\xC3"), r);
  EXPECT_EQ(escape("\xC3(x"), r + "(x");
  EXPECT_EQ(escape("\xC0\x80"), r + r);                  // overlong
  EXPECT_EQ(escape("\xED\xA0\x80"), r + r + r);          // a surrogate
  EXPECT_EQ(escape("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(escape(std::string("a\0b\x1B\n\t", 6)), "a" + r + "b" + r + "\n\t");
  EXPECT_EQ(escape("one\r\ntwo\r\n"), "one\ntwo\n");
}

TEST(Html, IsSelfContained) {
  HtmlPage page("t");
  page.chart(LineChart{}, "caption");
  const std::string html = page.html();
  for (const char* outside : {"http", "src=", "href=", "@import", "url("})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  EXPECT_NE(html.find("<figcaption>caption</figcaption>"), std::string::npos);
}

TEST(Html, ChartsHaveASizeForThePhone) {
  HtmlPage page("t");
  LineChart chart;
  chart.title = "<time>";
  page.chart(chart, "caption");
  page.charts({{chart, "left"}, {chart, "right"}});
  const std::string html = page.html();
  EXPECT_EQ(count(html, "<h3>&lt;time&gt;</h3>"), 3);
  EXPECT_EQ(count(html, "class=\"only-wide\""), 1);
  EXPECT_EQ(count(html, "viewBox=\"0 0 400.0"), 3);
  EXPECT_EQ(html.find("http-equiv"), std::string::npos);
}

TEST(Html, PartsAndWhatIsEmpty) {
  HtmlPage page("t");
  const std::string before = page.html();
  page.paragraph("");
  page.lead("");
  page.facts({});
  EXPECT_EQ(page.html(), before);
  page.facts({{"a&b", "<c>"}});
  Table table;
  table.columns = {{"x"}};
  page.folded("more", table);
  page.refresh_every(7);
  const std::string html = page.html();
  EXPECT_NE(html.find("<dt>a&amp;b</dt>\n<dd>&lt;c&gt;</dd>"), std::string::npos);
  EXPECT_NE(html.find("<details>\n<summary>more</summary>"), std::string::npos);
  EXPECT_NE(html.find("content=\"7\""), std::string::npos);
}

TEST(Html, APictureKeepsItsStylesToItself) {
  HeatMap map;
  map.rows = map.columns = 1;
  map.values = {1};
  map.groups = {"g"};
  HtmlPage page("t");
  page.picture({"picture", {}, {map}}, "caption");
  const std::string html = page.html();
  const std::string style = html.substr(html.rfind("<style>"));
  EXPECT_EQ(count(style.substr(0, style.find("</style>")), "; } "),
            count(style.substr(0, style.find("</style>")), ".heat-map "));
  EXPECT_NE(html.find("aria-label=\"picture\""), std::string::npos);
}

TEST(Html, SavesWholeOrNotAtAll) {
  const std::string folder = ::testing::TempDir() + "/report_html_test";
  std::filesystem::create_directories(folder);
  HtmlPage page("t");
  page.save(folder + "/a.html");
  std::ifstream in(folder + "/a.html");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), page.html());
  EXPECT_THROW(page.save(folder + "/missing/a.html"), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace longspan::report
