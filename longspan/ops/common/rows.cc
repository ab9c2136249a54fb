#include "longspan/ops/common/rows.h"

namespace longspan::ops {

Borders load_borders(const char* op, const char* name, const std::optional<at::Tensor>& cu, int64_t batch,
                     int64_t rows) {
  Borders out;
  if (!cu) {
    out.sequences = batch;
    out.segments.rows = rows;
    return out;
  }
  out.starts = cu->to(at::kCPU, at::kLong).contiguous();  // it may stand beside operands on a device
  out.sequences = out.starts.numel() - 1;
  const int64_t* starts = out.starts.const_data_ptr<int64_t>();
  TORCH_CHECK_VALUE(starts[0] == 0, op, ": ", name, ": expected a first border of 0, got ", starts[0]);
  for (int64_t s = 0; s < out.sequences; ++s)
    TORCH_CHECK_VALUE(starts[s] <= starts[s + 1], op, ": ", name, ": expected ascending borders, got ", starts[s],
                      " before ", starts[s + 1], " at index ", s);
  TORCH_CHECK_VALUE(starts[out.sequences] == rows, op, ": ", name, ": expected a last border of ", rows,
                    ", the number of rows, got ", starts[out.sequences]);
  out.segments.starts = starts;
  return out;
}

}  // namespace longspan::ops
