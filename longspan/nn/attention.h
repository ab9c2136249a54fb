// The one interface of every attention.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/nn/inspection.h"
#include "longspan/nn/pch.h"
#include "longspan/nn/state.h"

namespace longspan::nn {

/// Which query sees what: the four uses of an attention, fixed when a module is built.
/// causal_cross reads a fully visible source, as the cross attention of an autoregressive decoder does.
enum class Pattern { noncausal_self, causal_self, noncausal_cross, causal_cross };

/// "noncausal_self", "causal_self", "noncausal_cross", "causal_cross".
std::string to_string(Pattern pattern);
/// Throws InputError with the four names.
Pattern pattern_from_string(const std::string& text);
inline bool is_cross(Pattern p) { return p == Pattern::noncausal_cross || p == Pattern::causal_cross; }

/// What every attention shares: sizes, biases, rotary positions.
struct AttentionSizes {
  int64_t width = 0;         ///< E, model width of input and output
  int64_t heads = 0;         ///< H; E is a multiple of H
  int64_t source_width = 0;  ///< width of a cross source; 0 means E
  bool bias = true;          ///< biases in the projections
  int64_t kv_heads = 0;      ///< Hk, a divisor of H: query head h reads key head h / (H / Hk); 0 means H
  /// Self patterns with an even head width: q and k are turned by their positions before they meet, pair i of D / 2 by
  /// base^(-2i / D) a position; 0 means not at all.
  double rotary_base = 0;
  int64_t layer = 0;  ///< number of the layer in its model, for methods that draw something for each
  int64_t head_width() const { return width / heads; }
  int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
};

/// Everything a forward pass may be given besides x.
struct AttentionInputs {
  std::optional<at::Tensor> source = {};             ///< [B, M, source_width], cross patterns only
  std::optional<at::Tensor> valid = {};              ///< [B, N] bool, true = a real token
  std::optional<at::Tensor> source_valid = {};       ///< [B, M] bool
  std::optional<at::Tensor> cu_seqlens = {};         ///< [S + 1]: x is one pack, B = 1; not together with valid
  std::optional<at::Tensor> source_cu_seqlens = {};  ///< [S + 1], with cu_seqlens in cross patterns
  /// [B, N] bool, true = a token that sees all and is seen by all, instead of those that the method would choose; where
  /// AttentionProperties::global_tokens holds.
  std::optional<at::Tensor> global_tokens = {};
};

/// What the property harness and the documentation need to know of a method.
struct AttentionProperties {
  bool causal_exact = true;  ///< causal: outputs before t are bitwise independent of tokens from t on (same shape)
  bool length_free = true;   ///< the output of a prefix does not depend on the total length (within rounding)
  bool bitwise =
      false;  ///< attend() is own kernels throughout: bits independent of threads, batch-mates, packing, total length
  bool float32_sums =
      false;  ///< something is summed in float32 whatever the dtype: results are no more exact than that
  bool divides_by_norms = false;           ///< of rows, which may be small: rounding is magnified as the input decides
  std::optional<int64_t> max_length = {};  ///< a true maximum length, if the method has one
  bool packs_padding = true;               ///< a padded batch gives what its valid tokens give as a pack
  bool global_tokens = false;              ///< takes AttentionInputs::global_tokens
};

/// Cost of one layer's operator (projections apart) as functions of the lengths, multiply-adds counted as 2.
struct AttentionCost {
  double flops = 0;        ///< forward
  double bytes = 0;        ///< forward, compulsory reads and writes in float32
  double state_bytes = 0;  ///< of one stream after n tokens
};

/// Multi-head attention with its projections.
///
/// Padding is written once, here: forward() with `valid` gathers the valid tokens into a pack, calls forward_packed and
/// scatters back (specification A.8), so every position (distance, rotary angle, count) is the rank of a token among
/// the valid ones. Values at invalid places are never read; outputs there are 0. A method without
/// AttentionProperties::packs_padding is given the mask instead, and zeros at invalid places.
class Attention : public torch::nn::Module {
 public:
  Attention(std::string method, Pattern pattern, AttentionSizes sizes);

  const std::string& method() const { return method_; }
  Pattern pattern() const { return pattern_; }
  const AttentionSizes& sizes() const { return sizes_; }
  void pretty_print(std::ostream& stream) const override;

  /// x [B, N, E] -> [B, N, E]. Throws InputError for shapes or masks that do not fit, and for inputs that the pattern
  /// has no use for.
  at::Tensor forward(const at::Tensor& x, const AttentionInputs& inputs = {});

  /// A fresh state of `batch` streams (causal_self), or one that holds what cross queries need of `source` [B, M,
  /// source_width].
  State begin(int64_t batch);
  State begin(const at::Tensor& source, const std::optional<at::Tensor>& source_valid = std::nullopt);

  /// Consumes the new tokens x [B, N, E] (N >= 0) and returns their outputs; `state` becomes the state after them.
  /// Equals forward over the whole stream, whatever the cuts. Invalid tokens (valid [B, N] false) do not touch the
  /// state and give 0. Differentiable in x and in the incoming state. causal_self and cross patterns; noncausal_self
  /// throws InputError.
  at::Tensor extend(State& state, const at::Tensor& x, const std::optional<at::Tensor>& valid = std::nullopt);

  virtual AttentionProperties properties() const = 0;
  virtual AttentionCost cost(int64_t queries, int64_t keys) const = 0;

  /// To be called after every optimizer step: restores constraints on parameters (LAVO: orthogonal basis). No-op for
  /// most.
  virtual void after_step() {}

  /// A scalar that training adds to the loss, already weighted (LAVO: the penalty of a `soft` basis); undefined for
  /// most.
  virtual at::Tensor auxiliary_loss() const { return {}; }

  /// The complete options, as they stand in a saved configuration.
  virtual FieldValues options() const = 0;

  /// What ablate() accepts, as "part=way": "memory=none", "memory=zero", "memory=mean", "memory=swap" for LAVO.
  virtual std::vector<std::string> ablations() const { return {}; }
  /// Evaluates from now on with one part changed (way "none": as it was); InputError for what the method lacks.
  void ablate(const std::string& part, const std::string& way);

  /// What the method does with x [B, N, E] (dense; a cross pattern needs `source`), as float64 tensors by name, without
  /// gradients, dropout and ablations: slow and exact, to look at. InputError for a method that shows nothing.
  std::map<std::string, at::Tensor> inspect(const at::Tensor& x,
                                            const std::optional<at::Tensor>& source = std::nullopt);
  /// The same of a stream that comes in pieces, causal_self alone; it must not outlive the attention.
  virtual std::unique_ptr<Inspection> begin_inspection();
  /// `observer` is given the rows x of every forward() and extend() before they are used; an empty one ends that.
  void observe(std::function<void(const at::Tensor& x)> observer) { observer_ = std::move(observer); }

  /// Operator level, for benchmarks: a function on q [B, H, N, D] and k, v [B, Hk, N, D] alone, with the module's own
  /// parameters, no projections.
  virtual at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) = 0;

 protected:
  /// Dense batch or pack, already checked: x [B, N, E]; with cu [S + 1] int64 on the CPU, B = 1. source and source_cu
  /// likewise.
  struct Packed {
    std::optional<at::Tensor> cu, source, source_cu;
    std::optional<at::Tensor> valid = {};          ///< [B, N], without packs_padding where anything is invalid
    std::optional<at::Tensor> global_tokens = {};  ///< as the rows of x lie
  };
  virtual at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) = 0;
  /// ablate() of what is among ablations().
  virtual void set_ablation(const std::string& /*part*/, const std::string& /*way*/) {}
  /// inspect() of checked inputs.
  virtual std::map<std::string, at::Tensor> inspect_dense(const at::Tensor& x, const std::optional<at::Tensor>& source);
  /// The tensors of the states that begin() makes. extend() refuses a state that differs, so that extend_packed() may
  /// rely on it; an empty layout leaves the check to the method.
  virtual StateLayout state_layout() const { return {}; }
  virtual State begin_self(int64_t batch) = 0;
  virtual State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) = 0;
  /// x [B, N, E] with lengths all N, or with `cu` [B + 1] a pack [1, T, E] of each stream's new tokens (some may have
  /// none).
  virtual at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) = 0;

 private:
  std::string method_;
  Pattern pattern_;
  AttentionSizes sizes_;
  std::function<void(const at::Tensor&)> observer_;
};

using AttentionPtr = std::shared_ptr<Attention>;

}  // namespace longspan::nn
