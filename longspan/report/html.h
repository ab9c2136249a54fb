// A self-contained HTML page: no scripts, no files beside it, legible in a light and in a dark theme, on a phone and in
// print.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/report/chart.h"
#include "longspan/report/heat_map.h"
#include "longspan/report/table.h"
#include "longspan/report/tinted_text.h"

namespace longspan::report {

/// Text made safe inside HTML elements and quoted attributes. What is no UTF-8 and control characters other than tab
/// and line break become U+FFFD, so that a page is valid whatever a model has written. Carriage returns, which stand
/// before line breaks in many a text, are left out.
std::string escape(const std::string& text);

/// A chart with what is to be seen in it.
struct Panel {
  LineChart chart;
  std::string caption = {};
};

class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}

  /// A browser that shows the page loads it again after so many seconds: for a file that is rewritten. 0: never.
  void refresh_every(int seconds) { refresh_seconds_ = seconds; }

  /// Everything given as text is escaped. An empty text adds nothing.
  void heading(const std::string& text);
  void paragraph(const std::string& text);
  /// A first paragraph that says what matters.
  void lead(const std::string& text);
  /// A table wider than the page scrolls sideways within it.
  void table(const Table& table, const std::string& caption = "");
  void chart(const LineChart& chart, const std::string& caption = "");
  /// Two beside each other where there is room.
  void charts(const std::vector<Panel>& panels);
  /// Scrolls sideways where it is wider than the page.
  void picture(const HeatMapPicture& picture, const std::string& caption = "");
  void tinted(const std::vector<TintedRun>& runs, const std::vector<TintKey>& keys, const std::string& caption = "");
  void preformatted(const std::string& text);
  /// Names and what they are.
  void facts(const std::vector<std::pair<std::string, std::string>>& facts);
  /// A table that is shown when the reader asks for it.
  void folded(const std::string& summary, const Table& table);

  std::string html() const;
  /// Replaces the file atomically; RunError when it cannot be written.
  void save(const std::string& path) const;

 private:
  void figure(const std::string& title, const std::string& content, const std::string& caption);

  std::string title_, body_;
  int refresh_seconds_ = 0;
};

}  // namespace longspan::report
