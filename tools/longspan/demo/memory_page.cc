#include "memory_page.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

constexpr int64_t kColumns = 128;    // of the picture
constexpr std::size_t kColours = 5;  // slots with a colour of their own

double at(const std::vector<double>& values, const LayerView& layer, int64_t head, int64_t position, int64_t slot) {
  return values[static_cast<std::size_t>((head * layer.positions + position) * layer.slots + slot)];
}

/// Slots of every head downward, the page to the right; `value` of means over the positions of a column.
template <class Value>
report::HeatMap along_the_page(const LayerView& layer, const std::vector<double>& values, int64_t per_column,
                               const Value& value) {
  report::HeatMap map;
  map.rows = layer.heads * layer.slots;
  map.columns = (layer.positions + per_column - 1) / per_column;
  for (int64_t head = 0; head < layer.heads; ++head) {
    map.groups.push_back(str_cat("head ", head));
    for (int64_t slot = 0; slot < layer.slots; ++slot)
      for (int64_t column = 0; column < map.columns; ++column) {
        const int64_t begin = column * per_column, end = std::min(begin + per_column, layer.positions);
        double sum = 0;
        for (int64_t t = begin; t < end; ++t) sum += at(values, layer, head, t, slot);
        map.values.push_back(value(sum / static_cast<double>(end - begin)));
      }
  }
  return map;
}

/// The slot that the head reads most at each position.
std::vector<int64_t> most_read(const LayerView& layer, int64_t head) {
  std::vector<int64_t> out;
  for (int64_t t = 0; t < layer.positions; ++t) {
    const auto begin = layer.reading.begin() + (head * layer.positions + t) * layer.slots;
    out.push_back(std::max_element(begin, begin + layer.slots) - begin);
  }
  return out;
}

/// Line breaks ("\n" or "\r\n") inside paragraphs become blanks, and any number of empty lines one, so that the text
/// fits every width.
std::vector<std::string> reflowed(std::vector<std::string> labels) {
  for (std::size_t i = 0, end = 0; i < labels.size(); i = std::max(end, i + 1)) {
    int breaks = 0;
    for (end = i; end < labels.size() && (labels[end] == "\n" || labels[end] == "\r"); ++end)
      breaks += labels[end] == "\n";
    if (end == i) continue;
    std::fill(labels.begin() + static_cast<std::ptrdiff_t>(i), labels.begin() + static_cast<std::ptrdiff_t>(end), "");
    labels[i] = breaks <= 1 ? " " : "\n\n";
  }
  return labels;
}

double evenness(const LayerView& layer, int64_t head) {
  return layer.slots > 1 ? reading_entropy(layer, head) / std::log2(static_cast<double>(layer.slots)) : 1;
}

}  // namespace

std::optional<HeadPlace> most_selective_head(const MemoryLook& look) {
  std::optional<HeadPlace> best;
  double least = 0;
  for (std::size_t layer = 0; layer < look.layers.size(); ++layer)
    for (int64_t head = 0; head < look.layers[layer].heads; ++head)
      if (const double even = evenness(look.layers[layer], head); !best || even < least) {
        best = HeadPlace{layer, head};
        least = even;
      }
  return best;
}

int64_t characters_per_column(const MemoryLook& look) {
  return look.layers.empty() ? 1 : std::max<int64_t>(1, (look.layers.front().positions + kColumns - 1) / kColumns);
}

report::HeatMapPicture memory_picture(const MemoryLook& look) {
  report::HeatMapPicture picture;
  const auto place = most_selective_head(look);
  if (!place) return picture;
  const LayerView& layer = look.layers[place->layer];
  const int64_t per_column = characters_per_column(look);
  picture.title = str_cat("Layer ", place->layer, ": its memory along the page");
  report::HeatMap reading = along_the_page(layer, layer.reading, per_column, [&](double mean) {
    return std::log2(static_cast<double>(layer.slots) * mean);
  });
  reading.title = "Reading: orange where a slot is read more than the others, blue where less";
  reading.scale_text = str_cat("log2 of the weight times ", layer.slots, " slots");
  report::HeatMap contents = along_the_page(layer, layer.contents, per_column, [](double mean) { return mean; });
  contents.title = "Contents: the mean of the past along each slot's direction, orange above zero, blue below";
  contents.scale_text = "mean of the past";
  picture.maps = {std::move(reading), std::move(contents)};
  return picture;
}

ReadPage read_page(const MemoryLook& look) {
  ReadPage page;
  const auto place = most_selective_head(look);
  if (!place) return page;
  const LayerView& layer = look.layers[place->layer];
  const std::vector<int64_t> slots = most_read(layer, place->head);
  std::vector<int64_t> counts(static_cast<std::size_t>(layer.slots)), order(counts.size());
  for (const int64_t slot : slots) ++counts[static_cast<std::size_t>(slot)];
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  std::vector<int> colours(counts.size(), -1);
  for (std::size_t i = 0; i < std::min(kColours, order.size()); ++i) {
    const auto slot = static_cast<std::size_t>(order[i]);
    if (counts[slot] == 0) break;
    colours[slot] = static_cast<int>(i);
    page.keys.push_back(
        {static_cast<int>(i),
         str_cat("slot ", slot, ", read most at ",
                 report::fixed(100.0 * static_cast<double>(counts[slot]) / static_cast<double>(slots.size()), 0),
                 " % of the characters")});
  }
  std::vector<double> strengths;  // log2 of how many times as much as evenly
  for (int64_t t = 0; t < layer.positions; ++t)
    strengths.push_back(std::log2(static_cast<double>(layer.slots) *
                                  at(layer.reading, layer, place->head, t, slots[static_cast<std::size_t>(t)])));
  const double strongest = std::max(1e-9, *std::max_element(strengths.begin(), strengths.end()));
  const std::vector<std::string> labels = reflowed(look.labels);
  for (std::size_t t = 0; t < slots.size(); ++t)
    page.runs.push_back({t < labels.size() ? labels[t] : "", colours[static_cast<std::size_t>(slots[t])],
                         std::max(0.25, strengths[t] / strongest)});
  return page;
}

std::string without_empty_lines(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != '\n' || !out.ends_with("\n\n")) out += c;
  return out;
}

std::string reading_sentence(const MemoryLook& look) {
  const auto place = most_selective_head(look);
  if (!place) return "";
  const LayerView& layer = look.layers[place->layer];
  double strongest = 0;
  for (int64_t t = 0; t < layer.positions; ++t)
    for (int64_t slot = 0; slot < layer.slots; ++slot)
      strongest = std::max(strongest, at(layer.reading, layer, place->head, t, slot));
  return str_cat("Of all heads, head ", place->head, " of layer ", place->layer, " chooses most among its ",
                 layer.slots, " slots: the entropy of its reading weights is ",
                 report::fixed(reading_entropy(layer, place->head), 2), " bits of the ",
                 report::fixed(std::log2(static_cast<double>(layer.slots)), 2),
                 " of even reading, and the strongest weight on the page is ",
                 report::significant(strongest * static_cast<double>(layer.slots), 2), " times an even one.");
}

}  // namespace longspan::tool
