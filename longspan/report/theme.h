// The colours of pages and pictures, for a light and a dark background.
#pragma once

#include <array>
#include <string>

namespace longspan::report {

/// Ink, soft and series colours, in which names are written too, keep a contrast of at least 4.5 to 1 to paper and band
/// (WCAG 2, AA).
struct Theme {
  const char *paper, *ink, *soft, *grid, *band;
  std::array<const char*, 6> series;
};

inline constexpr Theme kLight = {"#ffffff", "#1c1e21",
                                 "#5c6269", "#dde0e4",
                                 "#f4f5f7", {"#0b5cad", "#c2410c", "#1f7a34", "#7b2cbf", "#7d6200", "#b0145f"}};
inline constexpr Theme kDark = {"#16181b", "#e6e8ea",
                                "#a2a9b0", "#363b41",
                                "#1f2226", {"#6cb2ff", "#ff9a62", "#6fd584", "#c99bff", "#e0c04c", "#ff8fc0"}};

/// `rules` of a theme as they hold for both: those of kLight, and those of kDark where the reader prefers it.
template <class Rules>
std::string for_both_themes(const Rules& rules) {
  return rules(kLight) + "@media (prefers-color-scheme: dark) { " + rules(kDark) + "}\n";
}

/// CSS of a page: defines --paper, --ink, --soft, --grid, --band and --series-1 .. --series-6.
inline std::string theme_variables() {
  return ":root { color-scheme: light dark; }\n" + for_both_themes([](const Theme& theme) {
           std::string out = ":root { ";
           const auto set = [&](const std::string& name, const char* colour) {
             out += "--" + name + ": " + colour + "; ";
           };
           set("paper", theme.paper);
           set("ink", theme.ink);
           set("soft", theme.soft);
           set("grid", theme.grid);
           set("band", theme.band);
           for (std::size_t i = 0; i < theme.series.size(); ++i)
             set("series-" + std::to_string(i + 1), theme.series[i]);
           return out + "}\n";
         });
}

}  // namespace longspan::report
