// What the memory does with a page of text: a picture and the page itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "longspan/report/heat_map.h"
#include "longspan/report/tinted_text.h"
#include "results.h"

namespace longspan::tool {

/// One head of one layer, numbered from 0.
struct HeadPlace {
  std::size_t layer = 0;
  int64_t head = 0;
};
/// The head that reads its slots least evenly over the page; nothing without layers.
std::optional<HeadPlace> most_selective_head(const MemoryLook& look);

/// Of that head's layer: which slots are read and what they hold along the page, all heads, averaged over a few
/// characters a column.
report::HeatMapPicture memory_picture(const MemoryLook& look);
/// How many characters that are.
int64_t characters_per_column(const MemoryLook& look);

/// The page, each character tinted by the slot that the head reads most there; the slots that are so most often have a
/// colour.
struct ReadPage {
  std::vector<report::TintedRun> runs;
  std::vector<report::TintKey> keys;
};
ReadPage read_page(const MemoryLook& look);

/// At most one empty line in a row.
std::string without_empty_lines(const std::string& text);

/// How unevenly that head reads; "" without layers.
std::string reading_sentence(const MemoryLook& look);

}  // namespace longspan::tool
