#include "longspan/report/tinted_text.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/chart.h"
#include "longspan/report/html.h"

namespace longspan::report {

namespace {

constexpr int kLevels = 4;
constexpr int kPercentPerLevel = 10;  // of the series colour over the paper

/// " class=..." of a tint, or "" where there is none.
std::string classes(int colour, int level) {
  if (colour < 0 || level == 0) return "";
  return str_cat(" class=\"s", colour % kSeriesColours + 1, " l", level, "\"");
}

int level_of(const TintedRun& run) {
  return static_cast<int>(std::lround(std::clamp(run.strength, 0.0, 1.0) * kLevels));
}

}  // namespace

std::string to_html(const std::vector<TintedRun>& runs, const std::vector<TintKey>& keys) {
  std::string out;
  if (!keys.empty()) {
    out += "<ul class=\"keys\">";
    for (const TintKey& key : keys)
      out += str_cat("<li><span", classes(key.colour, kLevels), ">&#8195;</span> ", escape(key.meaning), "</li>");
    out += "</ul>\n";
  }
  out += "<div class=\"tinted\">";
  std::string open;  // neighbours of one tint share an element
  std::string text;
  const auto flush = [&] {
    if (!text.empty()) out += open.empty() ? escape(text) : str_cat("<span", open, ">", escape(text), "</span>");
    text.clear();
  };
  for (const TintedRun& run : runs) {
    const std::string now = classes(run.colour, level_of(run));
    if (now != open) flush();
    open = now;
    text += run.text;
  }
  flush();
  return out + "</div>\n";
}

std::string tinted_text_style() {
  std::string out =
      ".tinted { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--grid); padding-left: "
      "1rem; "
      "font-family: ui-monospace, monospace; font-size: .9rem; line-height: 1.7; }\n"
      ".tinted span { padding: .18em 0; }\n"
      ".keys { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; font-size: .92rem; }\n";
  for (int colour = 1; colour <= kSeriesColours; ++colour)
    for (int level = 1; level <= kLevels; ++level)
      out += str_cat(".s", colour, ".l", level, " { background: color-mix(in srgb, var(--series-", colour, ") ",
                     level * kPercentPerLevel, "%, transparent); }\n");
  return out;
}

}  // namespace longspan::report
