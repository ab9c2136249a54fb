#include "longspan/train/sums.h"

#include <algorithm>

#include "longspan/base/check.h"

namespace longspan::train {

namespace {

constexpr int64_t kChunk = 4096;
constexpr int64_t kLanes = 8;

template <class T, class Map>
double chunked(const T* values, int64_t size, const Map& map) {
  double total = 0;
  for (int64_t begin = 0; begin < size; begin += kChunk) {
    const int64_t end = std::min(begin + kChunk, size);
    double lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += map(static_cast<double>(values[i + lane]));
    for (int64_t lane = 0; i + lane < end; ++lane) lanes[lane] += map(static_cast<double>(values[i + lane]));
    total += ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  }
  return total;
}

template <class Map>
double dispatched(const at::Tensor& values, const Map& map) {
  const at::Tensor data = values.detach().contiguous();
  if (data.scalar_type() == at::kDouble) return chunked(data.const_data_ptr<double>(), data.numel(), map);
  LONGSPAN_ASSERT(data.scalar_type() == at::kFloat, "got ", data.scalar_type());
  return chunked(data.const_data_ptr<float>(), data.numel(), map);
}

}  // namespace

double ordered_sum(const at::Tensor& values) {
  return dispatched(values, [](double v) { return v; });
}

double ordered_sum_of_squares(const at::Tensor& values) {
  return dispatched(values, [](double v) { return v * v; });
}

}  // namespace longspan::train
