#include "longspan/nn/state.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>

#include "longspan/base/check.h"

namespace longspan::nn {
namespace {

template <class F>
State map_tensors(const State& state, F&& f) {
  std::map<std::string, at::Tensor> out;
  for (const auto& [name, tensor] : state.tensors()) out.emplace(name, f(tensor));
  return State(std::move(out));
}

/// `tensor` with zeros behind its end until every dimension but the first has `sizes`.
at::Tensor padded(const at::Tensor& tensor, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> padding;
  bool any = false;
  for (int64_t dim = tensor.dim() - 1; dim >= 1; --dim) {
    padding.push_back(0);
    padding.push_back(sizes[dim] - tensor.size(dim));
    any = any || padding.back() != 0;
  }
  return any ? at::constant_pad_nd(tensor, padding, 0) : tensor;
}

template <class Map>
std::string names_of(const Map& map) {
  std::string out;
  for (const auto& [name, value] : map) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// "[batch, 2, any, 8]"
std::string described(const std::vector<int64_t>& sizes) {
  std::string out = "[batch";
  for (const int64_t size : sizes) out += ", " + (size < 0 ? std::string("any") : std::to_string(size));
  return out + "]";
}

bool fits(at::IntArrayRef sizes, const std::vector<int64_t>& expected) {
  if (sizes.size() != expected.size() + 1) return false;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] >= 0 && sizes[i + 1] != expected[i]) return false;
  return true;
}

}  // namespace

const at::Tensor& State::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  LONGSPAN_ASSERT(found != tensors_.end(), "state has no tensor '", name, "'");
  return found->second;
}

int64_t State::batch() const { return tensors_.empty() ? 0 : tensors_.begin()->second.size(0); }

int64_t State::bytes() const {
  int64_t sum = 0;
  for (const auto& [name, tensor] : tensors_) sum += static_cast<int64_t>(tensor.nbytes());
  return sum;
}

State State::clone() const {
  return map_tensors(*this, [](const at::Tensor& t) { return t.clone(at::MemoryFormat::Contiguous); });
}

State State::detach() const {
  return map_tensors(*this, [](const at::Tensor& t) { return t.detach(); });
}

State State::select(const at::Tensor& index) const {
  LONGSPAN_CHECK(index.dim() == 1 && index.scalar_type() == at::kLong,
                 "state: index must be a one-dimensional int64 tensor, got ", index.dim(), " dimensions of ",
                 index.scalar_type());
  if (index.numel() > 0) {
    const int64_t low = index.min().item<int64_t>(), high = index.max().item<int64_t>();
    LONGSPAN_CHECK(low >= 0 && high < batch(), "state: index must lie from 0 to ", batch() - 1, ", got ",
                   low < 0 ? low : high);
  }
  return map_tensors(*this, [&](const at::Tensor& t) { return t.index_select(0, index.to(t.device())); });
}

State State::stack(const std::vector<State>& states) {
  if (states.empty()) return {};
  std::map<std::string, at::Tensor> out;
  for (const auto& [name, first] : states.front().tensors()) {
    std::vector<int64_t> sizes = first.sizes().vec();
    std::vector<at::Tensor> parts;
    for (const State& state : states) {
      const auto found = state.tensors().find(name);
      LONGSPAN_CHECK(found != state.tensors().end() && state.tensors().size() == states.front().tensors().size(),
                     "state: streams to stack must come from one method, tensor '", name, "' is not in all of them");
      const at::Tensor& part = found->second;
      LONGSPAN_CHECK(part.dim() == first.dim(), "state: streams to stack must come from one method, tensor '", name,
                     "' has ", first.dim(), " and ", part.dim(), " dimensions");
      for (int64_t dim = 1; dim < part.dim(); ++dim) sizes[dim] = std::max(sizes[dim], part.size(dim));
      parts.push_back(part);
    }
    for (at::Tensor& part : parts) part = padded(part, sizes);
    out.emplace(name, at::cat(parts, 0));
  }
  return State(std::move(out));
}

void check_state(const std::string& method, const State& state, const StateLayout& layout, at::Device device) {
  const auto& tensors = state.tensors();
  const bool same_names = std::equal(tensors.begin(), tensors.end(), layout.begin(), layout.end(),
                                     [](const auto& a, const auto& b) { return a.first == b.first; });
  LONGSPAN_CHECK(same_names, method, ": state must hold ", names_of(layout), ", got ", names_of(tensors));
  for (const auto& [name, entry] : layout) {
    const at::Tensor& t = state.at(name);
    LONGSPAN_CHECK(t.defined(), method, ": state tensor ", name, " must be defined, got an undefined one");
    LONGSPAN_CHECK(fits(t.sizes(), entry.sizes), method, ": state tensor ", name, " must be ", described(entry.sizes),
                   ", got [", c10::Join(", ", t.sizes()), "]");
    LONGSPAN_CHECK(entry.dtype ? t.scalar_type() == *entry.dtype : t.is_floating_point(), method, ": state tensor ",
                   name, " must be ", entry.dtype ? c10::toString(*entry.dtype) : "of a floating dtype", ", got ",
                   t.scalar_type());
    const at::Device home = t.is_floating_point() ? device : at::Device(at::kCPU);
    LONGSPAN_CHECK(t.device() == home, method, ": state tensor ", name, " must be on ", home.str(), ", got ",
                   t.device().str());
    LONGSPAN_CHECK(t.size(0) == state.batch(), method, ": state tensor ", name, " must have the batch of the others, ",
                   state.batch(), ", got ", t.size(0));
    if (t.scalar_type() == at::kLong) {
      const at::Tensor counts = t.contiguous();
      for (int64_t i = 0; i < counts.numel(); ++i) {
        const int64_t count = counts.const_data_ptr<int64_t>()[i];
        LONGSPAN_CHECK(count >= 0, method, ": state tensor ", name, " must be at least 0, got ", count);
      }
    }
  }
}

}  // namespace longspan::nn
