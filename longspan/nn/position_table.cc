#include "longspan/nn/position_table.h"

namespace longspan::nn {

at::Tensor make_position_table(int64_t tables, int64_t reach, TableStart start) {
  if (start == TableStart::zero) return torch::zeros({tables, 2 * reach + 1});
  if (start == TableStart::normal) return torch::randn({tables, 2 * reach + 1}) * 0.02;
  const at::Tensor slopes = at::pow(2.0, -torch::arange(tables, torch::kDouble));
  const at::Tensor distance = torch::arange(-reach, reach + 1, torch::kDouble).abs();
  return (-at::outer(slopes, distance)).to(torch::get_default_dtype());
}

}  // namespace longspan::nn
