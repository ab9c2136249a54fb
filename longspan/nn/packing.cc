#include "longspan/nn/packing.h"

namespace longspan::nn {

Pack pack(const at::Tensor& x, const at::Tensor& valid) {
  const int64_t batch = x.size(0), length = x.size(1);
  Pack out;
  out.cu = at::zeros({batch + 1}, at::kLong);
  out.cu.narrow(0, 1, batch).copy_(valid.sum(1, false, at::kLong).cumsum(0));
  out.index = valid.reshape({batch * length}).nonzero().squeeze(1);
  out.rows = x.reshape({batch * length, x.size(2)}).index_select(0, out.index).unsqueeze(0);
  return out;
}

at::Tensor unpack(const at::Tensor& y, const Pack& pack, int64_t batch, int64_t length) {
  const int64_t width = y.size(2);
  return at::zeros({batch * length, width}, y.options())
      .index_copy(0, pack.index, y.squeeze(0))
      .view({batch, length, width});
}

at::Tensor flatten_batch(const at::Tensor& x) { return x.reshape({1, x.size(0) * x.size(1), x.size(2)}); }

at::Tensor uniform_cu(int64_t sequences, int64_t length) { return at::arange(sequences + 1, at::kLong) * length; }

std::vector<int64_t> borders(const at::Tensor& cu) {
  const int64_t* data = cu.const_data_ptr<int64_t>();
  return {data, data + cu.numel()};
}

at::Tensor cu_from_lengths(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> cu(1, 0);
  for (const int64_t length : lengths) cu.push_back(cu.back() + length);
  return index_tensor(cu);
}

at::Tensor index_tensor(const std::vector<int64_t>& values) {
  at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), out.data_ptr<int64_t>());
  return out;
}

at::Tensor sequence_of_row(const at::Tensor& cu) { return at::repeat_interleave(cu.diff()); }

at::Tensor rank_of_row(const at::Tensor& cu, const at::Tensor& start) {
  const int64_t sequences = cu.numel() - 1;
  at::Tensor shift = -cu.narrow(0, 0, sequences);
  if (start.defined()) shift = shift + start;
  return at::arange(cu[sequences].item<int64_t>(), at::kLong) + shift.index_select(0, sequence_of_row(cu));
}

at::Tensor positions_of_rows(int64_t length, const std::optional<at::Tensor>& cu, const at::Tensor& start) {
  if (cu) return rank_of_row(*cu, start);
  const at::Tensor ranks = at::arange(length, at::kLong);
  return start.defined() ? start.view({-1, 1, 1}) + ranks : ranks;
}

at::Tensor flatten_heads(const at::Tensor& heads) {
  const int64_t batch = heads.size(0), count = heads.size(1), length = heads.size(2);
  return heads.transpose(1, 2).reshape({1, batch * length, count, heads.size(3)}).transpose(1, 2);
}

at::Tensor unflatten_heads(const at::Tensor& pack, int64_t batch) {
  const int64_t count = pack.size(1), length = batch == 0 ? 0 : pack.size(2) / batch;
  return pack.transpose(1, 2).reshape({batch, length, count, pack.size(3)}).transpose(1, 2);
}

at::Tensor spread_heads(const at::Tensor& rows, int64_t heads) {
  return rows.size(1) == heads ? rows : rows.repeat_interleave(heads / rows.size(1), 1);
}

}  // namespace longspan::nn
