// A text whose stretches have a pale background colour each.
#pragma once

#include <string>
#include <vector>

namespace longspan::report {

struct TintedRun {
  std::string text;
  int colour = -1;      ///< number of a series colour from 0; -1: none
  double strength = 1;  ///< 0 to 1: how strong the tint is
};

/// What a colour stands for.
struct TintKey {
  int colour = 0;
  std::string meaning;
};

/// A block of text as it stands (line breaks kept, lines wrapped), with a legend above it when there are keys.
std::string to_html(const std::vector<TintedRun>& runs, const std::vector<TintKey>& keys = {});

/// CSS of such blocks; the strongest tint leaves the page's ink a contrast of more than 4.5 to 1.
std::string tinted_text_style();

}  // namespace longspan::report
