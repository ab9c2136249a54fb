#include "longspan/nn/ablation.h"

#include "longspan/base/check.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {

void HeadAblation::offer(std::vector<std::string>& ablations, int64_t heads) {
  ablations.emplace_back("head=none");
  for (int64_t head = 0; head < heads; ++head) ablations.push_back(str_cat("head=", head));
}

void HeadAblation::set(const std::string& way) {
  off_ = way == "none" ? std::nullopt : std::optional<int64_t>(std::stoll(way));
}

at::Tensor HeadAblation::apply(const at::Tensor& heads) const {
  return off_ ? heads.index_fill(1, at::full({1}, *off_, heads.options().dtype(at::kLong)), 0) : heads;
}

at::Tensor swapped_streams(const std::string& method, const at::Tensor& rows, const std::optional<at::Tensor>& cu) {
  const int64_t streams = cu ? cu->numel() - 1 : rows.size(0);
  const bool even = !cu || streams == 0 || cu->equal(uniform_cu(streams, (*cu)[streams].item<int64_t>() / streams));
  LONGSPAN_CHECK(streams >= 2 && even, method,
                 ": the ablation memory=swap needs at least 2 streams of one length, got ", streams,
                 even ? "" : " of different lengths");
  return cu ? rows.roll(rows.size(2) / streams, 2) : rows.roll(1, 0);
}

void check_swapped_state(const std::string& method, bool even) {
  LONGSPAN_CHECK(even, method, ": the ablation memory=swap needs streams of one length, got a state of different ones");
}

}  // namespace longspan::nn
