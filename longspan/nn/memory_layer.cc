#include "longspan/nn/memory_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "longspan/nn/cost.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/projections.h"
#include "longspan/nn/rotary.h"
#include "longspan/nn/window_state.h"

namespace longspan::nn {
namespace {

/// expand * width, a whole number that the memory's kernels take.
int64_t expanded(const std::string& method, const char* option, double expand, int64_t width) {
  const int64_t out = std::llround(expand * static_cast<double>(width));
  LONGSPAN_CHECK(out >= 1 && out <= 256, method, ": ", option, " must make a head of width ", width,
                 " between 1 and 256 wide, got ", expand, " times that, ", out);
  return out;
}

/// Columns of `rows` repeated, or cut, to `width`.
at::Tensor fitted(const at::Tensor& rows, int64_t width) {
  const int64_t times = (width + rows.size(-1) - 1) / rows.size(-1);
  const at::Tensor enough = times > 1 ? rows.repeat({1, 1, 1, times}) : rows;
  return enough.narrow(-1, 0, width).transpose(1, 2).flatten(2);
}

}  // namespace

const FieldTable<MemoryLayerOptions>& memory_layer_fields() {
  using O = MemoryLayerOptions;
  static const auto table =
      FieldTable<O>("memory_layer")
          .real("expand_k", &O::expand_k, {1.0 / 256, 256}, "width of a head's queries and keys, in head widths")
          .real("expand_v", &O::expand_v, {1.0 / 256, 256}, "width of a head's values, in head widths")
          .boolean("conv", &O::conv, "a causal convolution along queries, keys and values")
          .integer("conv_width", &O::conv_width, {1, 64}, "conv: tokens that it reads, the newest included")
          .boolean("output_gate", &O::output_gate, "outputs are multiplied by silu of a map of the input");
  return table;
}

const std::vector<IdleRule>& memory_layer_idle() {
  static const std::vector<IdleRule> rules = {{.when = {{"conv", false}}, .idle = {"conv_width"}}};
  return rules;
}

int64_t memory_key_width(const std::string& method, const AttentionSizes& sizes, const MemoryLayerOptions& options) {
  return expanded(method, "expand_k", options.expand_k, sizes.head_width());
}

std::map<std::string, std::vector<int64_t>> memory_layer_tables(const std::string& method, const AttentionSizes& sizes,
                                                                const MemoryLayerOptions& options) {
  const int64_t keys = memory_key_width(method, sizes, options);
  const int64_t values = expanded(method, "expand_v", options.expand_v, sizes.head_width());
  const int64_t width = sizes.width, heads = sizes.heads;
  std::map<std::string, std::vector<int64_t>> out = {{"q.weight", {heads * keys, width}},
                                                     {"k.weight", {sizes.key_heads() * keys, width}},
                                                     {"v.weight", {sizes.key_heads() * values, width}},
                                                     {"out.weight", {width, heads * values}}};
  if (options.output_gate) out["gate.weight"] = {heads * values, width};
  const bool usual = std::all_of(out.begin(), out.end(),
                                 [&](const auto& map) { return map.second[0] * map.second[1] <= width * width; });
  // Where `out` is smaller than E x E it does not vouch for the others.
  if (usual && heads * values == width) out.clear();
  return out;
}

std::vector<FieldValues> memory_layer_harness(const std::vector<FieldInfo>& fields, std::vector<OptionFactor> more) {
  for (const FieldInfo& info : fields)
    if (info.kind == FieldInfo::Kind::boolean)
      more.push_back({info.name, {FieldValue(), !std::get<bool>(info.default_value)}});
  more.insert(more.end(), {{"expand_k", {FieldValue(), 1.25}},
                           {"expand_v", {FieldValue(), 0.5}},
                           {"conv_width", {FieldValue(), int64_t{1}, int64_t{6}}}});
  return option_cover(fields, more, {}, memory_layer_idle(), [](const OptionLookup&) { return true; });
}

MemoryLayer::MemoryLayer(const std::string& name, Pattern pattern, AttentionSizes sizes, MemoryLayerOptions options,
                         Method method)
    : Attention(name, pattern, sizes),
      options_(options),
      method_(method),
      key_width_(memory_key_width(name, sizes, options)),
      value_width_(expanded(name, "expand_v", options.expand_v, sizes.head_width())) {
  LONGSPAN_CHECK(pattern == Pattern::causal_self, name, ": the pattern must be causal_self, got ", to_string(pattern));
  LONGSPAN_CHECK(sizes.rotary_base == 0 || key_width_ % 2 == 0, name,
                 ": rotary positions need an even width of queries and keys per head, got ", key_width_);
  const int64_t keys = sizes.key_heads() * key_width_, values = sizes.key_heads() * value_width_;
  q_ = make_linear(*this, "q", sizes.width, sizes.heads * key_width_, sizes.bias, kInputGain);
  k_ = make_linear(*this, "k", sizes.width, keys, sizes.bias, kInputGain);
  v_ = make_linear(*this, "v", sizes.width, values, sizes.bias, kInputGain);
  if (options.output_gate)
    gate_ = make_linear(*this, "gate", sizes.width, sizes.heads * value_width_, sizes.bias, kInputGain);
  out_ = make_linear(*this, "out", sizes.heads * value_width_, sizes.width, sizes.bias, 1.0);
  if (options.conv) {
    q_conv_ = ShortConvolution(*this, "q_conv", sizes.heads, key_width_, options.conv_width);
    k_conv_ = ShortConvolution(*this, "k_conv", sizes.key_heads(), key_width_, options.conv_width);
    v_conv_ = ShortConvolution(*this, "v_conv", sizes.key_heads(), value_width_, options.conv_width);
  }
  norm_ = register_parameter("norm", torch::ones({value_width_}));
}

AttentionProperties MemoryLayer::properties() const {
  AttentionProperties out;
  out.divides_by_norms = true;
  return out;
}

AttentionCost MemoryLayer::cost(int64_t queries, int64_t) const {
  const double rows = static_cast<double>(queries), heads = static_cast<double>(sizes().heads);
  const double slots = static_cast<double>(key_width_), width = static_cast<double>(value_width_);
  const double key_heads = static_cast<double>(sizes().key_heads());
  const double channels = heads * slots + key_heads * (slots + width);  // of q, k and v
  const double decays = method_.decay == MemoryDecay::none ? 0 : method_.decay == MemoryDecay::scalar ? 1 : slots;
  AttentionCost out;
  // The decay of the state, what a key reads of it, its write, and what the query reads.
  out.flops = heads * slots * width * rows * ((method_.decay == MemoryDecay::none ? 0 : 1) + (method_.delta ? 6 : 4));
  if (options_.conv) out.flops += 2 * static_cast<double>(options_.conv_width) * channels * rows;
  out.bytes = 4 * rows * (channels + heads * width + heads * (1 + decays));
  out.state_bytes = 8 + delta_bytes(shape());
  if (options_.conv) out.state_bytes += 4 * static_cast<double>(options_.conv_width - 1) * channels;
  return out;
}

at::Tensor MemoryLayer::shaped(const ShortConvolution& conv, const at::Tensor& rows, int64_t width,
                               const Place& place) const {
  at::Tensor out = rows;
  if (conv.defined())
    out = place.next != nullptr ? conv.extend(*place.next, rows, place.cu) : conv.forward(rows, place.cu);
  if (method_.activation) out = at::silu(out);
  return out.unflatten(2, {-1, width}).transpose(1, 2);
}

MemoryLayer::Rows MemoryLayer::arrange(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, Gates gates,
                                       const Place& place) const {
  at::Tensor queries = shaped(q_conv_, q, key_width_, place), keys = shaped(k_conv_, k, key_width_, place);
  if (method_.unit) {
    queries = unit_rows(queries);
    keys = unit_rows(keys);
  }
  if (place.rotate && sizes().rotary_base > 0) {
    const Rotary rotary(positions_of_rows(q.size(1), place.cu, place.start), key_width_, sizes().rotary_base,
                        q.options());
    queries = rotary.turn(queries);
    keys = rotary.turn(keys);
  }
  const int64_t heads = sizes().heads;
  return {queries * (1 / std::sqrt(static_cast<double>(key_width_))),
          {spread_heads(keys, heads), spread_heads(shaped(v_conv_, v, value_width_, place), heads),
           std::move(gates.beta), std::move(gates.log_alpha)}};
}

MemoryLayer::Rows MemoryLayer::project(const at::Tensor& x, const Place& place) {
  return arrange(q_->forward(x), k_->forward(x), v_->forward(x), gates(x), place);
}

ops::DeltaMemoryOptions MemoryLayer::memory_options(const std::optional<at::Tensor>& cu) const {
  ops::DeltaMemoryOptions out;
  out.delta = method_.delta;
  out.cu_seqlens = cu;
  return out;
}

at::Tensor MemoryLayer::read_and_write(const Rows& rows, const std::optional<at::Tensor>& cu) const {
  const MemoryWrites& in = rows.writes;
  return std::get<0>(
      ops::delta_memory(rows.queries, in.keys, in.values, in.beta, in.log_alpha, std::nullopt, memory_options(cu)));
}

at::Tensor MemoryLayer::finish(const at::Tensor& memory, const at::Tensor& x) {
  at::Tensor rows = (rms_rows(memory) * norm_).transpose(1, 2).flatten(2);
  if (!gate_.is_empty()) rows = rows * at::silu(gate_->forward(x));
  return out_->forward(rows.to(memory.scalar_type()));
}

at::Tensor MemoryLayer::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const Rows rows = arrange(fitted(q, key_width_), fitted(k, key_width_), fitted(v, value_width_),
                            gates_of_nothing(q.size(0), q.size(2), q.options()), {.cu = {}, .rotate = false});
  return (rms_rows(read_and_write(rows, {})) * norm_).to(q.scalar_type());
}

at::Tensor MemoryLayer::forward_packed(const at::Tensor& x, const Packed& packed) {
  return finish(read_and_write(project(x, {.cu = packed.cu}), packed.cu), x);
}

StateLayout MemoryLayer::state_layout() const {
  StateLayout layout = {{"count", {.dtype = at::kLong}}};
  for (const ShortConvolution* conv : {&q_conv_, &k_conv_, &v_conv_})
    if (conv->defined()) conv->describe(layout);
  describe_delta(layout, shape());
  return layout;
}

State MemoryLayer::begin_self(int64_t batch) {
  return zero_state(state_layout(), batch, q_->weight.options().requires_grad(false));
}

State MemoryLayer::begin_cross(const at::Tensor&, const std::optional<at::Tensor>&, int64_t) {
  throw InternalError(method() + " has no cross pattern");
}

at::Tensor MemoryLayer::extend_packed(State& state, const at::Tensor& x, const std::optional<at::Tensor>& cu) {
  State next = state;
  const Rows rows = project(x, {.cu = cu, .start = state.at("count"), .next = &next});
  const MemoryWrites& in = rows.writes;
  const auto [memory, after] = ops::delta_memory_extend(rows.queries, in.keys, in.values, in.beta, in.log_alpha,
                                                        delta_of(state), memory_options(cu));
  set_delta(next, after);
  advance_count(next, x.size(1), cu);
  const at::Tensor y = finish(memory, x);
  state = std::move(next);
  return y;
}

std::map<std::string, at::Tensor> MemoryLayer::inspect_dense(const at::Tensor& x, const std::optional<at::Tensor>&) {
  const Rows rows = project(x, {.cu = {}});
  auto out = watch_memory(rows.queries, rows.writes, method_.delta);
  out["norm"] = read_and_write(rows, {}).to(at::kDouble).square().mean(-1).sqrt();
  return out;
}

}  // namespace longspan::nn
