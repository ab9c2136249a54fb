#include "lavo_view.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

std::size_t index(int64_t a, int64_t b, int64_t size_b, int64_t c, int64_t size_c) {
  return static_cast<std::size_t>((a * size_b + b) * size_c + c);
}

double reading_at(const LayerView& layer, int64_t head, int64_t position, int64_t slot) {
  return layer.reading[index(head, position, layer.positions, slot, layer.slots)];
}

/// log2(R p): 0 for even reading.
double preference(const LayerView& layer, int64_t head, int64_t position, int64_t slot) {
  return std::log2(static_cast<double>(layer.slots) * reading_at(layer, head, position, slot));
}

double strongest_preference(const LayerView& layer, int64_t head) {
  double strongest = 0;
  for (int64_t t = 0; t < layer.positions; ++t)
    for (int64_t slot = 0; slot < layer.slots; ++slot)
      strongest = std::max(strongest, preference(layer, head, t, slot));
  return strongest;
}

/// `values` [H, N, C] as JSON [H][N][C].
Json nested(const std::vector<double>& values, int64_t heads, int64_t rows, int64_t columns) {
  Json out = Json::array();
  for (int64_t head = 0; head < heads; ++head) {
    Json matrix = Json::array();
    for (int64_t row = 0; row < rows; ++row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>((head * rows + row) * columns);
      matrix.push_back(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(columns)));
    }
    out.push_back(std::move(matrix));
  }
  return out;
}

std::vector<std::string> head_names(const LayerView& layer) {
  std::vector<std::string> names;
  for (int64_t head = 0; head < layer.heads; ++head) names.push_back(str_cat("head ", head));
  return names;
}

/// Slots downward, positions to the right: `value(head, position, slot)`.
template <class Value>
report::HeatMap slots_over_text(const LayerView& layer, const std::vector<std::string>& labels, const Value& value) {
  report::HeatMap map;
  map.rows = layer.heads * layer.slots;
  map.columns = layer.positions;
  map.groups = head_names(layer);
  map.labels = labels;
  for (int64_t head = 0; head < layer.heads; ++head)
    for (int64_t slot = 0; slot < layer.slots; ++slot)
      for (int64_t t = 0; t < layer.positions; ++t) map.values.push_back(value(head, t, slot));
  return map;
}

report::HeatMap local_map(const LayerView& layer) {
  report::HeatMap map;
  map.rows = layer.heads;
  map.columns = layer.window;
  map.groups = head_names(layer);
  for (int64_t head = 0; head < layer.heads; ++head) {
    const auto mean = mean_local(layer, head);
    map.values.insert(map.values.end(), mean.begin(), mean.end());
  }
  return map;
}

}  // namespace

double departure_from_orthogonality(const LayerView& layer) {
  double largest = 0;
  const auto at = [&](int64_t head, int64_t slot, int64_t c) {
    return layer.basis[index(head, slot, layer.slots, c, layer.head_width)];
  };
  for (int64_t head = 0; head < layer.heads; ++head)
    for (int64_t a = 0; a < layer.slots; ++a)
      for (int64_t b = 0; b <= a; ++b) {
        double product = a == b ? -layer.gain * layer.gain : 0;
        for (int64_t c = 0; c < layer.head_width; ++c) product += at(head, a, c) * at(head, b, c);
        largest = std::max(largest, std::abs(product));
      }
  return largest;
}

std::vector<double> mean_reading(const LayerView& layer, int64_t head) {
  std::vector<double> mean(static_cast<std::size_t>(layer.slots));
  for (int64_t t = 0; t < layer.positions; ++t)
    for (int64_t slot = 0; slot < layer.slots; ++slot)
      mean[static_cast<std::size_t>(slot)] += reading_at(layer, head, t, slot) / static_cast<double>(layer.positions);
  return mean;
}

double reading_entropy(const LayerView& layer, int64_t head) {
  double bits = 0;
  for (int64_t t = 0; t < layer.positions; ++t)
    for (int64_t slot = 0; slot < layer.slots; ++slot)
      if (const double p = reading_at(layer, head, t, slot); p > 0)
        bits -= p * std::log2(p) / static_cast<double>(layer.positions);
  return bits;
}

std::vector<double> mean_local(const LayerView& layer, int64_t head) {
  std::vector<double> mean(static_cast<std::size_t>(layer.window));
  const int64_t whole = layer.positions - layer.window + 1;
  if (layer.local.empty()) return mean;
  for (int64_t t = layer.window - 1; t < layer.positions; ++t)
    for (int64_t offset = 0; offset < layer.window; ++offset)
      mean[static_cast<std::size_t>(offset)] +=
          layer.local[index(head, t, layer.positions, offset, layer.window)] / static_cast<double>(whole);
  return mean;
}

report::Table lavo_table(const std::vector<LayerView>& layers) {
  report::Table table;
  table.columns = {
      {"layer", true},          {"head", true},      {"|B B' - g^2 I|", true},  {"entropy of reading", true},
      {"most read slot", true}, {"strongest", true}, {"own local weight", true}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerView& layer = layers[i];
    const std::string departure = report::significant(departure_from_orthogonality(layer), 2);
    for (int64_t head = 0; head < layer.heads; ++head) {
      const auto mean = mean_reading(layer, head);
      const auto most = std::max_element(mean.begin(), mean.end());
      table.rows.push_back(
          {std::to_string(i), std::to_string(head), departure,
           str_cat(report::fixed(reading_entropy(layer, head), 3), " of ",
                   report::fixed(std::log2(static_cast<double>(layer.slots)), 3)),
           str_cat(most - mean.begin(), " (", report::fixed(*most * static_cast<double>(layer.slots), 2), " / R)"),
           str_cat(report::fixed(std::exp2(strongest_preference(layer, head)), 2), " / R"),
           layer.local.empty() ? "-" : report::fixed(mean_local(layer, head).back(), 3)});
    }
  }
  return table;
}

std::string lavo_legend() {
  return "|B B' - g^2 I|      largest departure of the slots' directions from orthogonality (g: basis_gain)\n"
         "entropy of reading  of the reading weights, in bits, mean over the positions, of log2 R where all R slots "
         "are "
         "read alike\n"
         "most read slot      its number and its mean weight, as a multiple of 1 / R\n"
         "strongest           largest reading weight of any slot at any position, as a multiple of 1 / R\n"
         "own local weight    mean weight of a position's own token in its local window\n";
}

Json to_json(const LayerView& layer, int64_t number) {
  Json json = {{"layer", number},
               {"heads", layer.heads},
               {"slots", layer.slots},
               {"positions", layer.positions},
               {"orthogonality", departure_from_orthogonality(layer)},
               {"entropy", Json::array()},
               {"reading_mean", Json::array()},
               {"local_mean", Json::array()}};
  for (int64_t head = 0; head < layer.heads; ++head) {
    json["entropy"].push_back(reading_entropy(layer, head));
    json["reading_mean"].push_back(mean_reading(layer, head));
    if (!layer.local.empty()) json["local_mean"].push_back(mean_local(layer, head));
  }
  json["reading"] = nested(layer.reading, layer.heads, layer.positions, layer.slots);
  json["contents"] = nested(layer.contents, layer.heads, layer.positions, layer.slots);
  json["local"] = layer.local.empty() ? Json() : nested(layer.local, layer.heads, layer.positions, layer.window);
  json["basis"] = nested(layer.basis, layer.heads, layer.slots, layer.head_width);
  return json;
}

report::HeatMapPicture lavo_picture(const std::vector<LayerView>& layers, const std::string& model,
                                    const std::vector<std::string>& labels) {
  report::HeatMapPicture picture;
  picture.title = "LAVO's memory in " + model;
  picture.lines = {
      "Every row is a slot, every column a position of the text. Reading: orange where the slot is read more than the "
      "others, blue where less.",
      "Contents: the mean of the past along the slot's direction, orange above zero, blue below."};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerView& layer = layers[i];
    report::HeatMap reading = slots_over_text(
        layer, labels, [&](int64_t head, int64_t t, int64_t slot) { return preference(layer, head, t, slot); });
    reading.title = str_cat("Layer ", i, ": reading weights p");
    reading.scale_text = str_cat("log2 of p times ", layer.slots, " slots");
    picture.maps.push_back(std::move(reading));
    report::HeatMap contents = slots_over_text(layer, labels, [&](int64_t head, int64_t t, int64_t slot) {
      return layer.contents[index(head, t, layer.positions, slot, layer.slots)];
    });
    contents.title = str_cat("Layer ", i, ": contents H; basis |B B' - g\xC2\xB2 I| at most ",
                             report::significant(departure_from_orthogonality(layer), 2));
    contents.scale_text = "mean of the past along the slot's direction";
    picture.maps.push_back(std::move(contents));
    if (layer.local.empty() || layer.positions < layer.window) continue;
    report::HeatMap local = local_map(layer);
    local.title = str_cat("Layer ", i, ": local weights, mean by distance");
    local.scale_text = str_cat("from ", layer.window - 1, " back at the left to the own position at the right");
    picture.maps.push_back(std::move(local));
  }
  return picture;
}

}  // namespace longspan::tool
