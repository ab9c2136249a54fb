// A self-contained HTML page: no scripts, no files beside it, legible in a light and in a dark theme.
#pragma once

#include <string>

#include "longspan/report/chart.h"
#include "longspan/report/table.h"

namespace longspan::report {

/// Text made safe inside HTML elements and quoted attributes. What is no UTF-8 and control characters other than tab
/// and line break become U+FFFD, so that a page is valid whatever a model has written.
std::string escape(const std::string& text);

class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}

  /// Everything given as text is escaped.
  void heading(const std::string& text);
  void paragraph(const std::string& text);
  void table(const Table& table, const std::string& caption = "");
  void chart(const LineChart& chart, const std::string& caption = "");
  void preformatted(const std::string& text);

  std::string html() const;
  /// Replaces the file atomically; RunError when it cannot be written.
  void save(const std::string& path) const;

 private:
  std::string title_, body_;
};

}  // namespace longspan::report
