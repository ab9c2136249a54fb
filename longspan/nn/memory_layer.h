// Layers that are nothing but a delta memory: what delta_net, gated_delta_net and gla share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "longspan/nn/attention.h"
#include "longspan/nn/delta_state.h"
#include "longspan/nn/memory_rows.h"
#include "longspan/nn/option_cover.h"
#include "longspan/nn/short_convolution.h"
#include "longspan/nn/usable_options.h"

namespace longspan::nn {

/// Options of every such layer; each has defaults of its own.
struct MemoryLayerOptions {
  double expand_k = 1;      ///< width of a head's queries and keys in head widths
  double expand_v = 1;      ///< that of its values
  bool conv = true;         ///< a causal convolution along queries, keys and values
  int64_t conv_width = 4;   ///< its taps
  bool output_gate = true;  ///< outputs are multiplied by silu of a map of the input
};
const FieldTable<MemoryLayerOptions>& memory_layer_fields();
/// conv_width has no use without conv.
const std::vector<IdleRule>& memory_layer_idle();

/// `options`, within the ranges of their table and none of them idle; else InputError.
template <class Options>
const Options& checked(const FieldTable<Options>& table, const Options& options) {
  table.validate(options);
  refuse_idle(table.owner(), memory_layer_idle(), table.infos(), table.values(options));
  return options;
}

/// R, the width of a head's queries and keys; InputError for one outside 1 ... 256.
int64_t memory_key_width(const std::string& method, const AttentionSizes& sizes, const MemoryLayerOptions& options);

/// AttentionEntry::tables: all maps where one is larger than E x E, or `out` smaller.
std::map<std::string, std::vector<int64_t>> memory_layer_tables(const std::string& method, const AttentionSizes& sizes,
                                                                const MemoryLayerOptions& options);

/// Option sets for the property harness: every two settings of the fields, with `more` of single fields.
std::vector<FieldValues> memory_layer_harness(const std::vector<FieldInfo>& fields, std::vector<OptionFactor> more);

/// causal_self alone:
///
///   q_t, k_t, v_t = act(conv(W x_t))         act: silu, or nothing; q and k then to norm 1 where `unit` says so
///   o_t = ops::delta_memory(q / sqrt(R), k, v, beta, log alpha)
///   y_t = W_o (norm o o_t / rms(o_t) o silu(W_g x_t))
///
/// with R = expand_k D and Dv = expand_v D (rounded), D the head width. What a method adds is the gates.
///
/// Parameters: q [H R, E], k [Hk R, E], v [Hk Dv, E], out [E, H Dv], with output_gate `gate` [H Dv, E], biases with
/// sizes.bias; `q_conv`, `k_conv`, `v_conv` [channels, 1, taps]; `norm` [Dv], ones at the start. Rotary positions turn
/// q and k after the norm. With grouped heads k and v exist per key head; gates exist per query head.
///
/// State, of constant size: "q_conv", "k_conv", "v_conv" [B, taps - 1, channels], the memory of delta_state.h, "count".
class MemoryLayer : public Attention {
 public:
  AttentionProperties properties() const override;
  AttentionCost cost(int64_t queries, int64_t keys) const override;
  /// Everything but what maps x: gates are those of an input of zeros, there is no output gate and no rotation. q, k
  /// and v are cut to the layer's widths, or repeated until they have them; the result has Dv columns.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;

 protected:
  /// What a method decides, beside the options.
  struct Method {
    bool activation = true;  ///< silu behind the convolution, or in its place
    bool unit = true;        ///< queries and keys of norm 1
    bool delta = true;       ///< the delta rule
    MemoryDecay decay = MemoryDecay::none;
  };
  struct Gates {
    at::Tensor beta;                      ///< [B, H, N]
    std::optional<at::Tensor> log_alpha;  ///< [B, H, N] or [B, H, N, R]
  };

  /// The makers of maps of the derived class draw behind those of this one. InputError for patterns other than
  /// causal_self, widths of heads outside 1 ... 256 and odd ones with rotary positions.
  MemoryLayer(const std::string& name, Pattern pattern, AttentionSizes sizes, MemoryLayerOptions options,
              Method method);

  virtual Gates gates(const at::Tensor& x) = 0;
  virtual Gates gates_of_nothing(int64_t batch, int64_t length, const at::TensorOptions& options) = 0;

  at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) override;
  StateLayout state_layout() const override;
  State begin_self(int64_t batch) override;
  State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) override;
  at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override;
  /// watch_memory(), and "norm" [B, H, N], the root mean square of a head's o_t before it is divided by it.
  std::map<std::string, at::Tensor> inspect_dense(const at::Tensor& x,
                                                  const std::optional<at::Tensor>& source) override;

  int64_t key_width() const { return key_width_; }  ///< R
  const MemoryLayerOptions& layer_options() const { return options_; }

 private:
  struct Rows {
    at::Tensor queries;
    MemoryWrites writes;
  };
  /// Where rows stand: their sequences, the position of the first [B], and the state of streams that they move on.
  struct Place {
    std::optional<at::Tensor> cu;
    at::Tensor start = {};
    State* next = nullptr;
    bool rotate = true;
  };
  DeltaShape shape() const { return {sizes().heads, key_width_, value_width_, method_.decay}; }
  at::Tensor shaped(const ShortConvolution& conv, const at::Tensor& rows, int64_t width, const Place& place) const;
  /// Rows [B, N, channels] of q, k and v as the memory takes them.
  Rows arrange(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, Gates gates, const Place& place) const;
  Rows project(const at::Tensor& x, const Place& place);
  at::Tensor read_and_write(const Rows& rows, const std::optional<at::Tensor>& cu) const;
  at::Tensor finish(const at::Tensor& memory, const at::Tensor& x);
  ops::DeltaMemoryOptions memory_options(const std::optional<at::Tensor>& cu) const;

  MemoryLayerOptions options_;
  Method method_;
  int64_t key_width_, value_width_;
  torch::nn::Linear q_{nullptr}, k_{nullptr}, v_{nullptr}, gate_{nullptr}, out_{nullptr};
  ShortConvolution q_conv_, k_conv_, v_conv_;
  at::Tensor norm_;
};

}  // namespace longspan::nn
