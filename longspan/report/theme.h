// The colours of pages and pictures, for a light and a dark background.
#pragma once

namespace longspan::report {

/// CSS that defines --paper, --ink, --soft, --grid, --band and --series-1 .. --series-6 for both themes. Series colours
/// keep a contrast of at least 3 to 1 to the background and differ in lightness, so that they can be told apart without
/// hue.
inline constexpr const char* kTheme = R"(
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1c1e21; --soft: #5c6269; --grid: #dde0e4; --band: #f4f5f7;
  --series-1: #0b5cad; --series-2: #c2410c; --series-3: #2b8a3e;
  --series-4: #7b2cbf; --series-5: #8a6d00; --series-6: #b0145f; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #16181b; --ink: #e6e8ea; --soft: #a2a9b0; --grid: #363b41; --band: #1f2226;
  --series-1: #6cb2ff; --series-2: #ff9a62; --series-3: #6fd584;
  --series-4: #c99bff; --series-5: #e0c04c; --series-6: #ff8fc0; } }
)";

}  // namespace longspan::report
