#include "longspan/ops/orthogonal_memory/composed_scan.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "longspan/kernels/memory/memory.h"
#include "longspan/ops/common/dropout.h"
#include "longspan/ops/common/packing.h"
#include "longspan/ops/orthogonal_memory/check.h"

namespace longspan::ops::memory {
namespace {

// Counts that cannot be checked, because they lie on another device, stop here.
constexpr int64_t kLastCount = std::numeric_limits<int64_t>::max();

// The largest multiple of `unit` that is not above x.
at::Tensor round_down(const at::Tensor& x, int64_t unit) { return x.floor_divide(unit) * unit; }

// [S] as [S, 1, 1], beside values of sequences.
at::Tensor beside_sums(const at::Tensor& x) { return x.unsqueeze(-1).unsqueeze(-1); }

// Type of the running sums. A compensated float32 sum is a float64 one at the precision of its two parts.
at::ScalarType sum_type(const Options& options) { return options.accumulator == "float32" ? at::kFloat : at::kDouble; }

at::Tensor unpack_sums(const at::Tensor& sums, const Options& options) {
  if (options.accumulator != "float32_compensated") return sums;
  const auto parts = sums.to(at::kDouble).chunk(2, -1);
  return parts[0] + parts[1];
}

at::Tensor pack_sums(const at::Tensor& sums, const Options& options) {
  if (options.accumulator != "float32_compensated") return sums;
  const at::Tensor high = sums.to(at::kFloat);
  return at::cat({high, (sums - high).to(at::kFloat)}, -1);
}

// Equations 1, 3 and 4, in float64 for float64 operands and else in float32.
class Memory {
 public:
  Memory(const Inputs& x, const Options& options)
      : q_(x.q), options_(options), dropout_(options.dropout, options.dropout_seed, x.q) {
    dtype_ = sum_dtype(q_);
    basis_ = x.basis.to(dtype_);
    const c10::SymInt heads = x.q.sym_size(1), shared = x.m.sym_size(1);
    at::Tensor m = x.m.to(dtype_);
    if (heads != shared)  // every query head gets the features of its group
      m = m.unsqueeze(2).expand_symint({-1, -1, heads / shared, -1, -1}).flatten(1, 2);
    projected_ = at::matmul(m, basis_.transpose(1, 2)).to(sum_type(options));
  }

  /// z, [B, H, M, R].
  const at::Tensor& projected() const { return projected_; }

  /// `mean`: H, [B, H, N or 1, R]; `row` and `position`: the queries' sequences and positions in them.
  at::Tensor read(const at::Tensor& mean, const at::Tensor& row, const at::Tensor& position) const {
    const at::Tensor slots = mean.to(dtype_);
    const at::Tensor scores = at::matmul(q_.to(dtype_), basis_.transpose(1, 2)) * slots * options_.scale;
    at::Tensor p = at::softmax(scores, -1);
    if (dropout_.active()) {
      const auto index = position.options();
      const c10::SymInt heads = q_.sym_size(1), fours = (basis_.sym_size(1) + 3) / 4;
      p = dropout_.apply(p, row, at::arange(heads, index).view_symint({heads, 1, 1}), position,
                         at::arange(fours, index));
    }
    return with_layout(at::matmul(p * slots, basis_).to(q_.scalar_type()), q_);
  }

 private:
  at::Tensor q_, basis_, projected_;
  at::ScalarType dtype_;
  const Options& options_;
  DropoutMask dropout_;
};

at::Tensor full(const Inputs& x, const Options& options) {
  const Memory memory(x, options);
  const RowSequences queries(options.cu_seqlens, x.q.sym_size(0), x.q.sym_size(2), x.q);
  const RowSequences sources(options.cu_seqlens_source ? options.cu_seqlens_source : options.cu_seqlens,
                             x.m.sym_size(0), x.m.sym_size(2), x.q);
  // No sources: a mean of 0, and so zeros.
  const at::Tensor mean = sources.sum(memory.projected()) / beside_sums(sources.lengths().clamp_min(1));
  return memory.read(queries.at_rows(mean), queries.number(), queries.rank());
}

// The sums and positions of a stream before a call, [count, H, R] and [count].
struct Past {
  at::Tensor closed, open, count, visible;  // visible: undefined without a window
};

Past fresh(const RowSequences& rows, const at::Tensor& projected) {
  const at::Tensor none =
      at::zeros_symint({rows.count(), projected.sym_size(1), projected.sym_size(3)}, projected.options());
  const at::Tensor count = at::zeros_symint({rows.count()}, rows.index().options());
  return {none, none, count, none};
}

class Causal {
 public:
  Causal(const at::Tensor& projected, const RowSequences& rows, const Past& past, int64_t window)
      : z_(projected),
        rows_(rows),
        past_(past),
        window_(window),
        before_(past.closed + past.open),
        count_(rows.at_rows(beside_sums(past.count))),
        position_(count_ + rows.rank().minimum(kLastCount - 1 - count_)) {}

  /// Of the rows in their streams, [B or 1, 1, N, 1].
  const at::Tensor& position() const { return position_; }

  /// H of every row, equation 2.
  at::Tensor mean() const {
    const at::Tensor sums = rows_.scan(z_) + rows_.at_rows(before_);
    if (window_ == 0) return sums / (position_ + 1);
    // The sum at the end of the window before the row's own, if that end lies in this call.
    const at::Tensor begin = round_down(position_, window_);
    const at::Tensor end = rows_.index().view({1, 1, -1, 1}) - (position_ - begin) - 1;
    const at::Tensor there = sums.gather(2, end.clamp_min(0).expand_symint(sums.sym_sizes()));
    return at::where(begin > count_, there / begin.clamp_min(1), rows_.at_rows(past_.visible));
  }

  Past after() const {
    const at::Tensor total = past_.count + rows_.lengths().minimum(kLastCount - past_.count);
    const at::Tensor border = round_down(total, kernels::kMemoryChunk);
    const at::Tensor completed = beside_sums(border > past_.count), within = sum_before(border);
    Past out{past_.closed + past_.open.masked_fill(completed.logical_not(), 0) + within,
             past_.open.masked_fill(completed, 0) + sum_from(border), total, at::Tensor()};
    if (window_ > 0) {
      const at::Tensor begin = round_down(total, window_);
      const at::Tensor mean = (before_ + sum_before(begin)) / beside_sums(begin.clamp_min(1));
      out.visible = at::where(beside_sums(begin > past_.count), mean, past_.visible).to(at::kDouble);
    }
    return out;
  }

 private:
  at::Tensor is_before(const at::Tensor& position) const { return position_ < rows_.at_rows(beside_sums(position)); }
  /// Sums over the rows before the given position of each stream, and over the others.
  at::Tensor sum_before(const at::Tensor& position) const {
    return rows_.sum(z_.masked_fill(is_before(position).logical_not(), 0));
  }
  at::Tensor sum_from(const at::Tensor& position) const { return rows_.sum(z_.masked_fill(is_before(position), 0)); }

  at::Tensor z_;
  const RowSequences& rows_;
  const Past& past_;
  int64_t window_;
  at::Tensor before_, count_, position_;
};

void check_values(const Inputs& x, const Options& options, const char* op) {
  if (readable_on_host(options.cu_seqlens)) load_borders(op, "cu_seqlens", options.cu_seqlens, 1, x.q.size(2));
  if (readable_on_host(options.cu_seqlens_source))
    load_borders(op, "cu_seqlens_source", options.cu_seqlens_source, 1, x.m.size(2));
}

}  // namespace

at::Tensor composed(const Inputs& x, std::string_view form_name, const Options& options) {
  const Form form = parse_form(form_name);
  check<c10::SymInt>(x, form, options);
  check_values(x, options, kOp);
  if (form == Form::full) return full(x, options);
  const Memory memory(x, options);
  const RowSequences rows(options.cu_seqlens, x.q.sym_size(0), x.q.sym_size(2), x.q);
  const Past past = fresh(rows, memory.projected());
  const Causal causal(memory.projected(), rows, past, options.window);
  return memory.read(causal.mean(), rows.number(), causal.position());
}

Extended composed_extend(const Inputs& x, const State& state, const Options& options) {
  check_extend<c10::SymInt>(x, state, options);
  check_values(x, options, kExtend);
  if (state.count.is_cpu() && has_values(state.count)) check_positions(kExtend, "count", state.count, x.q.size(2));
  const Memory memory(x, options);
  const RowSequences rows(options.cu_seqlens, x.q.sym_size(0), x.q.sym_size(2), x.q);
  const Past past{unpack_sums(state.closed, options), unpack_sums(state.open, options), state.count,
                  state.visible.value_or(at::Tensor())};
  const Causal causal(memory.projected(), rows, past, options.window);
  const at::Tensor out = memory.read(causal.mean(), rows.number(), causal.position());
  const Past after = causal.after();
  return {out, pack_sums(after.closed, options), pack_sums(after.open, options), after.count,
          after.visible.defined() ? after.visible : at::zeros({0}, state.closed.options().dtype(at::kDouble))};
}

}  // namespace longspan::ops::memory
