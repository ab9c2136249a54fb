// What LAVO's layers did with a text, as numbers, a table and a picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/heat_map.h"
#include "longspan/report/table.h"

namespace longspan::tool {

/// One layer on N positions of one text; arrays are row-major.
struct LayerView {
  int64_t heads = 0, positions = 0, slots = 0, window = 0, head_width = 0;
  std::vector<double> reading;   ///< p_t [H, N, R]: weights of the slots, sum 1
  std::vector<double> contents;  ///< H_t [H, N, R]: mean of the past along each slot's direction
  std::vector<double> local;  ///< [H, N, w]: weights of the window, the own position last; empty without a local branch
  std::vector<double> basis;  ///< [H, R, D]
  double gain = 1;            ///< norm of the basis rows
};

/// Largest entry of |B B^T - gain^2 I| over the heads.
double departure_from_orthogonality(const LayerView& layer);
/// Mean over the positions of head `head`'s reading weights, [R].
std::vector<double> mean_reading(const LayerView& layer, int64_t head);
/// Mean entropy of head `head`'s reading weights in bits: log2 R where all slots are read alike.
double reading_entropy(const LayerView& layer, int64_t head);
/// Mean of head `head`'s local weights over positions whose window is whole, [w]; zeros where there is none.
std::vector<double> mean_local(const LayerView& layer, int64_t head);

/// A line for each layer and head.
report::Table lavo_table(const std::vector<LayerView>& layers);
/// What its columns say, a line for each.
std::string lavo_legend();

/// All of it; layers are numbered from 0.
Json to_json(const LayerView& layer, int64_t number);

/// Over `labels`, a character for each position: log2(R p), which is above zero where a slot is read more than the
/// others, and contents, for each layer; the mean local weights by distance.
report::HeatMapPicture lavo_picture(const std::vector<LayerView>& layers, const std::string& model,
                                    const std::vector<std::string>& labels);

}  // namespace longspan::tool
