// The state of a stream: a value made of named tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace longspan::nn {

/// What an attention must keep of the past to go on reading a stream: named tensors whose first dimension is the batch
/// row (counters too, as int64 [B]). Copying the object shares the tensors; extend() never writes in place into a
/// tensor that it was given, so a copy taken before stays what it was. Use clone() where storage of its own is wanted.
class State {
 public:
  State() = default;
  explicit State(std::map<std::string, at::Tensor> tensors) : tensors_(std::move(tensors)) {}

  /// Throws InternalError when there is no such tensor.
  const at::Tensor& at(const std::string& name) const;
  void set(const std::string& name, at::Tensor tensor) { tensors_[name] = std::move(tensor); }
  bool contains(const std::string& name) const { return tensors_.count(name) != 0; }
  const std::map<std::string, at::Tensor>& tensors() const { return tensors_; }

  /// Number of batch rows, 0 for an empty state.
  int64_t batch() const;
  /// Bytes of all tensors.
  int64_t bytes() const;
  State clone() const;
  State detach() const;
  /// The rows `index` [K] (int64) in that order: reorders or repeats streams (beam search), drops finished ones.
  State select(const at::Tensor& index) const;
  /// The streams of `states`, one behind the other; all must have the same names, and shapes that differ at most in the
  /// batch (softmax caches are padded to the longest).
  static State stack(const std::vector<State>& states);

 private:
  std::map<std::string, at::Tensor> tensors_;
};

/// What a method keeps under one name: the first dimension is the batch row; integers stand on the CPU, everything else
/// on the device of the weights.
struct StateEntry {
  std::vector<int64_t> sizes = {};           ///< without the batch row; -1: any length
  std::optional<at::ScalarType> dtype = {};  ///< none: any floating dtype, as autocast may leave it
};
using StateLayout = std::map<std::string, StateEntry>;

/// Throws InputError unless `state` holds exactly the tensors of `layout`, all with one batch, and no negative count.
/// `method` begins the message, `device` is that of the weights.
void check_state(const std::string& method, const State& state, const StateLayout& layout, at::Device device);

}  // namespace longspan::nn
