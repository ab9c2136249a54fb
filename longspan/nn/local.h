// Softmax attention over a sliding window (the baseline `local`).
#pragma once

#include "longspan/nn/attention.h"
#include "longspan/nn/position_table.h"
#include "longspan/nn/projections.h"

namespace longspan::nn {

struct LocalOptions {
  enum class Positions { none, table };
  int64_t w = 16;  ///< causal: the w last keys, the query's own included; noncausal: keys at distance up to w
  Positions positions = Positions::none;  ///< table: a trained score for every offset, as LAVO's
  TableStart table_start = TableStart::slope;
};
const FieldTable<LocalOptions>& local_fields();

class LocalAttention final : public Attention {
 public:
  LocalAttention(Pattern pattern, AttentionSizes sizes, LocalOptions options);

  AttentionProperties properties() const override;
  AttentionCost cost(int64_t queries, int64_t keys) const override;
  FieldValues options() const override { return local_fields().values(options_); }
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override;

 protected:
  at::Tensor forward_packed(const at::Tensor& x, const Packed& packed) override;
  StateLayout state_layout() const override;
  State begin_self(int64_t batch) override;
  State begin_cross(const at::Tensor& source, const std::optional<at::Tensor>& source_cu, int64_t batch) override;
  at::Tensor extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) override;
  /// "weights" [B, H, N, N], zeros outside the window, and "values" [B, H, N, D].
  std::map<std::string, at::Tensor> inspect_dense(const at::Tensor& x,
                                                  const std::optional<at::Tensor>& source) override;

 private:
  int64_t reach_left() const { return pattern() == Pattern::causal_self ? options_.w - 1 : options_.w; }
  int64_t reach_right() const { return pattern() == Pattern::causal_self ? 0 : options_.w; }
  std::optional<at::Tensor> table() const;
  at::Tensor window(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& cu,
                    const std::optional<at::Tensor>& cu_k) const;

  LocalOptions options_;
  Projections project_;
  at::Tensor position_table_;  ///< [H, 2 reach_left + 1], parameter `position_table`; undefined without positions
};

}  // namespace longspan::nn
