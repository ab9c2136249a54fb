#include "longspan/report/html.h"

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"
#include "longspan/io/atomic_file.h"
#include "longspan/report/theme.h"

namespace longspan::report {

namespace {

constexpr const char* kStyle =
    R"(* { box-sizing: border-box; }
body { background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; max-width: 62rem;
  margin: 2rem auto 4rem; padding: 0 1.1rem; overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .8rem; padding-top: 1rem; border-top: 1px solid var(--grid); }
h3 { font-size: 1rem; margin: 0 0 .3rem; }
p { max-width: 44rem; }
.lead { font-size: 1.08rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
.wide:focus-visible { outline: 2px solid var(--series-1); outline-offset: 2px; }
th, td { text-align: left; padding: .35rem 1.1rem .35rem 0; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
th.n, td.n { text-align: right; }
figure { margin: 1.6rem 0; }
figcaption { color: var(--soft); font-size: .92rem; line-height: 1.5; margin-top: .4rem; max-width: 44rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 0 2rem; }
.chart { display: block; width: 100%; height: auto; font: 13px system-ui, sans-serif; }
.chart text { fill: var(--ink); }
.chart .soft { fill: var(--soft); }
.chart .name { font-weight: 600; }
.chart .spread { opacity: .2; }
.chart .note { fill: var(--soft); font-size: .92em; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.chart .level { stroke: var(--soft); stroke-dasharray: 1 4; stroke-linecap: round; stroke-width: 1.5; }
.chart .upright { stroke: var(--soft); stroke-dasharray: 5 4; }
.narrow .chart { max-width: 30rem; font-size: 14px; }
.only-narrow { display: none; }
@media (max-width: 44rem) { .only-wide { display: none; } .only-narrow { display: block; } }
pre { background: var(--band); padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .88rem;
  border-radius: .3rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem 1.4rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media print { body { max-width: none; } h2, figure { break-inside: avoid; } }
)";

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

void append_escaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '&') {
    out += "&amp;";
  } else if (c == '<') {
    out += "&lt;";
  } else if (c == '>') {
    out += "&gt;";
  } else if (c == '"') {
    out += "&quot;";
  } else if (c == '\'') {
    out += "&#39;";
  } else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
    out += kReplacement;  // control characters have no place in HTML
  } else {
    out += c;
  }
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\r') {
      ++i;
      continue;
    }
    const std::size_t length = utf8_character(std::string_view(text).substr(i));
    if (length == 0) {
      out += kReplacement;
      ++i;
    } else if (length > 1) {
      out.append(text, i, length);
      i += length;
    } else {
      append_escaped(out, text[i++]);
    }
  }
  return out;
}

namespace {

std::string element(const char* tag, const std::string& text) {
  return text.empty() ? "" : str_cat("<", tag, ">", escape(text), "</", tag, ">\n");
}

/// For both sizes of the page; style sheets show one of them.
std::string both_sizes(const LineChart& chart) {
  return str_cat("<div class=\"only-wide\">", to_svg(chart, ChartSize::wide),
                 "</div>\n<div class=\"only-narrow narrow\">", to_svg(chart, ChartSize::narrow), "</div>\n");
}

}  // namespace

void HtmlPage::figure(const std::string& title, const std::string& content, const std::string& caption) {
  body_ += "<figure>\n" + element("h3", title) + content + element("figcaption", caption) + "</figure>\n";
}

void HtmlPage::heading(const std::string& text) { body_ += element("h2", text); }

void HtmlPage::paragraph(const std::string& text) { body_ += element("p", text); }

void HtmlPage::lead(const std::string& text) {
  if (!text.empty()) body_ += "<p class=\"lead\">" + escape(text) + "</p>\n";
}

void HtmlPage::table(const Table& table, const std::string& caption) { figure("", to_html(table), caption); }

void HtmlPage::chart(const LineChart& chart, const std::string& caption) {
  figure(chart.title, both_sizes(chart), caption);
}

void HtmlPage::charts(const std::vector<Panel>& panels) {
  body_ += "<div class=\"pair\">\n";
  for (const Panel& panel : panels)
    figure(panel.chart.title, "<div class=\"narrow\">" + to_svg(panel.chart, ChartSize::narrow) + "</div>\n",
           panel.caption);
  body_ += "</div>\n";
}

void HtmlPage::picture(const HeatMapPicture& picture, const std::string& caption) {
  figure("", scrolling(to_svg(picture), picture.title), caption);
}

void HtmlPage::tinted(const std::vector<TintedRun>& runs, const std::vector<TintKey>& keys,
                      const std::string& caption) {
  figure("", to_html(runs, keys), caption);
}

void HtmlPage::preformatted(const std::string& text) { body_ += element("pre", text); }

void HtmlPage::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (facts.empty()) return;
  body_ += "<dl>\n";
  for (const auto& [name, value] : facts) body_ += element("dt", name) + "<dd>" + escape(value) + "</dd>\n";
  body_ += "</dl>\n";
}

void HtmlPage::folded(const std::string& summary, const Table& table) {
  body_ += "<details>\n" + element("summary", summary) + to_html(table) + "</details>\n";
}

std::string HtmlPage::html() const {
  const std::string refresh =
      refresh_seconds_ > 0 ? str_cat("<meta http-equiv=\"refresh\" content=\"", refresh_seconds_, "\">\n") : "";
  return str_cat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      refresh, "<title>", escape(title_), "</title>\n<style>", theme_variables(), kStyle, tinted_text_style(),
      "</style>\n</head>\n<body>\n<h1>", escape(title_), "</h1>\n", body_, "</body>\n</html>\n");
}

void HtmlPage::save(const std::string& path) const {
  write_file(path, html());
}

}  // namespace longspan::report
