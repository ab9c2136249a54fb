#include "longspan/nn/rolling.h"

#include <algorithm>

namespace longspan::nn {

std::vector<int64_t> rolling_shifts(int64_t n) {
  std::vector<int64_t> out = {0};
  for (int64_t shift = 1; shift <= n / 2; shift *= 2) out.push_back(shift);
  return out;
}

int64_t Rolling::slot_of(int64_t token, int64_t n) const { return (token + shift) % (slots > 0 ? slots : n); }

int64_t Rolling::in_front(int64_t n) const {
  const int64_t ring = slots > 0 ? slots : n;
  return n == 0 ? 0 : std::max<int64_t>(shift % ring - (ring - n), 0);
}

std::vector<double> rolling_errors(const std::function<at::Tensor(const at::Tensor& x, int64_t shift)>& f,
                                   const at::Tensor& x, const std::vector<int64_t>& shifts,
                                   const std::function<void(int64_t done)>& on_shift) {
  const at::NoGradGuard no_grad;
  const at::Tensor expected = f(x, 0).to(at::kDouble);
  const double size = expected.norm().item<double>();
  std::vector<double> out;
  for (const int64_t shift : shifts) {
    const at::Tensor rolled = f(x.roll(shift, 1), shift).to(at::kDouble).roll(-shift, 1);
    out.push_back(size == 0 ? 0 : (rolled - expected).norm().item<double>() / size);
    if (on_shift) on_shift(static_cast<int64_t>(out.size()));
  }
  return out;
}

}  // namespace longspan::nn
