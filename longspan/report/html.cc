#include "longspan/report/html.h"

#include "longspan/io/atomic_file.h"
#include "longspan/report/theme.h"

namespace longspan::report {

namespace {

constexpr const char* kStyle =
    R"(body { background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
th.n, td.n { text-align: right; }
figure { margin: 1.2rem 0; }
figcaption { color: var(--soft); font-size: .92rem; margin-top: .3rem; }
svg { width: 100%; height: auto; }
pre { background: var(--band); padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
)";

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the UTF-8 character at `at`; 0 where there is none (also for overlong forms, surrogates, values beyond
/// U+10FFFF).
std::size_t character_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto continues = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      if ((byte(i) & 0xC0) != 0x80) return false;
    return true;
  };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1, 2) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    return continues(1, 3) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
    return continues(1, 4) ? 4 : 0;
  }
  return 0;
}

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
    const std::size_t length = character_length(text, i);
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

void HtmlPage::heading(const std::string& text) { body_ += "<h2>" + escape(text) + "</h2>\n"; }

void HtmlPage::paragraph(const std::string& text) { body_ += "<p>" + escape(text) + "</p>\n"; }

void HtmlPage::table(const Table& table, const std::string& caption) {
  body_ += "<figure>\n" + to_html(table);
  if (!caption.empty()) body_ += "<figcaption>" + escape(caption) + "</figcaption>\n";
  body_ += "</figure>\n";
}

void HtmlPage::chart(const LineChart& chart, const std::string& caption) {
  body_ += "<figure>\n" + to_svg(chart);
  if (!caption.empty()) body_ += "<figcaption>" + escape(caption) + "</figcaption>\n";
  body_ += "</figure>\n";
}

void HtmlPage::preformatted(const std::string& text) { body_ += "<pre>" + escape(text) + "</pre>\n"; }

std::string HtmlPage::html() const {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape(title_) + "</title>\n<style>" + theme_variables() + kStyle +
         "</style>\n</head>\n<body>\n<h1>" + escape(title_) +
         "</h1>\n" + body_ + "</body>\n</html>\n";
}

void HtmlPage::save(const std::string& path) const {
  AtomicFile file(path);
  file.write(html());
  file.commit();
}

}  // namespace longspan::report
