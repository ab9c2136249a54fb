#include "longspan/nn/attention.h"

#include <ATen/autocast_mode.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ostream>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/nn/packing.h"

namespace longspan::nn {
namespace {

constexpr std::array<std::pair<Pattern, const char*>, 4> kPatternNames = {{
    {Pattern::noncausal_self, "noncausal_self"},
    {Pattern::causal_self, "causal_self"},
    {Pattern::noncausal_cross, "noncausal_cross"},
    {Pattern::causal_cross, "causal_cross"},
}};

std::string shape(const at::Tensor& t) {
  std::string out = "[";
  for (int64_t i = 0; i < t.dim(); ++i) out += (i ? ", " : "") + std::to_string(t.size(i));
  return out + "]";
}

void check_rows(const Attention& owner, const char* name, const at::Tensor& rows, int64_t width) {
  LONGSPAN_CHECK(rows.defined() && rows.dim() == 3 && rows.size(2) == width, owner.method(), ": ", name,
                 " must be [batch, length, ", width, "], got ", rows.defined() ? shape(rows) : "an undefined tensor");
  const at::Tensor weight = owner.parameters().front();
  LONGSPAN_CHECK(rows.device() == weight.device(), owner.method(), ": ", name,
                 " must be on the device of the weights, ", weight.device().str(), ", got ", rows.device().str());
  const bool autocast = at::autocast::is_autocast_enabled(rows.device().type());
  LONGSPAN_CHECK(autocast ? rows.is_floating_point() : rows.scalar_type() == weight.scalar_type(), owner.method(), ": ",
                 name, " must have the dtype of the weights, ", weight.scalar_type(), ", got ", rows.scalar_type());
}

void check_mask(const std::string& method, const char* name, const at::Tensor& valid, const at::Tensor& rows) {
  LONGSPAN_CHECK(valid.scalar_type() == at::kBool && valid.dim() == 2 && valid.size(0) == rows.size(0) &&
                     valid.size(1) == rows.size(1),
                 method, ": ", name, " must be bool [", rows.size(0), ", ", rows.size(1), "], got ",
                 valid.scalar_type(), " ", shape(valid));
}

/// The borders as contiguous int64 on the CPU.
at::Tensor checked_cu(const std::string& method, const char* name, const at::Tensor& cu, const at::Tensor& rows) {
  LONGSPAN_CHECK(cu.dim() == 1 && cu.numel() >= 1 && (cu.scalar_type() == at::kLong || cu.scalar_type() == at::kInt),
                 method, ": ", name, " must be a one-dimensional int32 or int64 tensor of at least one element, got ",
                 cu.scalar_type(), " ", shape(cu));
  LONGSPAN_CHECK(rows.size(0) == 1, method, ": ", name, " needs a batch of 1 (the sequences lie on one row axis), got ",
                 rows.size(0));
  at::Tensor out = cu.to(at::kCPU, at::kLong).contiguous();
  const std::vector<int64_t> values = borders(out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool fits = i == 0 ? values[i] == 0 : values[i] >= values[i - 1];
    LONGSPAN_CHECK(fits, method, ": ", name, " must start at 0 and never fall, got ", values[i], " at index ", i);
  }
  LONGSPAN_CHECK(values.back() == rows.size(1), method, ": ", name, " must end at the number of rows, ", rows.size(1),
                 ", got ", values.back());
  return out;
}

/// Positions are int64.
void check_room(const std::string& method, const at::Tensor& count, int64_t rows) {
  const int64_t most = std::numeric_limits<int64_t>::max() - rows;
  for (const int64_t value : borders(count.contiguous()))
    LONGSPAN_CHECK(value <= most, method, ": state tensor count must be at most 2^63 - 1 - ", rows, " = ", most,
                   ", so that ", rows, " more fit, got ", value);
}

/// Whether a mask leaves anything out.
bool has_gaps(const std::optional<at::Tensor>& valid) { return valid && !valid->all().item<bool>(); }

/// Rows as a pack: the valid ones, or all of them where there is no mask.
Pack pack_or_flatten(const at::Tensor& rows, const std::optional<at::Tensor>& valid) {
  if (valid) return pack(rows, *valid);
  return {flatten_batch(rows), uniform_cu(rows.size(0), rows.size(1)), {}};
}

}  // namespace

std::string to_string(Pattern pattern) {
  for (const auto& [value, name] : kPatternNames)
    if (value == pattern) return name;
  throw InternalError("a pattern without a name");
}

Pattern pattern_from_string(const std::string& text) {
  std::string names;
  for (const auto& [value, name] : kPatternNames) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw InputError(str_cat("pattern must be one of ", names, ", got ", text));
}

Attention::Attention(std::string method, Pattern pattern, AttentionSizes sizes)
    : torch::nn::Module(method), method_(std::move(method)), pattern_(pattern), sizes_(sizes) {
  LONGSPAN_CHECK(sizes_.heads >= 1, method_, ": heads must be at least 1, got ", sizes_.heads);
  LONGSPAN_CHECK(sizes_.width >= 1, method_, ": width must be at least 1, got ", sizes_.width);
  LONGSPAN_CHECK(sizes_.width % sizes_.heads == 0, method_, ": width must be a multiple of heads, got ", sizes_.width,
                 " and ", sizes_.heads);
  LONGSPAN_CHECK(sizes_.source_width >= 0, method_, ": source_width must be at least 0, got ", sizes_.source_width);
  LONGSPAN_CHECK(is_cross(pattern_) || sizes_.source_width == 0, method_, ": source_width has no use in the pattern ",
                 to_string(pattern_), ", got ", sizes_.source_width);
  LONGSPAN_CHECK(sizes_.kv_heads >= 0 && sizes_.heads % sizes_.key_heads() == 0, method_,
                 ": kv_heads must be 0 or a divisor of heads, ", sizes_.heads, ", got ", sizes_.kv_heads);
  LONGSPAN_CHECK(sizes_.rotary_base == 0 || sizes_.rotary_base >= 1, method_,
                 ": rotary_base must be 0 or at least 1, got ", sizes_.rotary_base);
  LONGSPAN_CHECK(sizes_.rotary_base == 0 || !is_cross(pattern_), method_, ": rotary_base has no use in the pattern ",
                 to_string(pattern_), ", got ", sizes_.rotary_base);
  LONGSPAN_CHECK(sizes_.rotary_base == 0 || sizes_.head_width() % 2 == 0, method_,
                 ": rotary positions need an even head width, got ", sizes_.head_width());
}

void Attention::pretty_print(std::ostream& stream) const {
  stream << method_ << "(" << to_string(pattern_) << ", width " << sizes_.width << ", heads " << sizes_.heads;
  if (sizes_.key_heads() != sizes_.heads) stream << ", kv_heads " << sizes_.kv_heads;
  stream << ")";
}

at::Tensor Attention::forward(const at::Tensor& x, const AttentionInputs& inputs) {
  const bool cross = is_cross(pattern_);
  check_rows(*this, "x", x, sizes_.width);
  LONGSPAN_CHECK(!inputs.valid || !inputs.cu_seqlens, method_,
                 ": valid and cu_seqlens cannot both be given: a pack has no padding");
  LONGSPAN_CHECK(cross || (!inputs.source && !inputs.source_valid && !inputs.source_cu_seqlens), method_,
                 ": source has no use in the pattern ", to_string(pattern_), ", got one");
  if (inputs.valid) check_mask(method_, "valid", *inputs.valid, x);

  Packed packed;
  if (inputs.cu_seqlens) packed.cu = checked_cu(method_, "cu_seqlens", *inputs.cu_seqlens, x);
  bool gaps = has_gaps(inputs.valid);
  if (cross) {
    LONGSPAN_CHECK(inputs.source, method_, ": source must be given in the pattern ", to_string(pattern_), ", got none");
    const at::Tensor& source = *inputs.source;
    check_rows(*this, "source", source, sizes_.source_width > 0 ? sizes_.source_width : sizes_.width);
    LONGSPAN_CHECK(source.size(0) == x.size(0), method_, ": source must have the batch of x, ", x.size(0), ", got ",
                   source.size(0));
    LONGSPAN_CHECK(inputs.cu_seqlens.has_value() == inputs.source_cu_seqlens.has_value(), method_,
                   ": cu_seqlens and source_cu_seqlens must be given together, got one");
    LONGSPAN_CHECK(!inputs.source_valid || !inputs.source_cu_seqlens, method_,
                   ": source_valid and source_cu_seqlens cannot both be given: a pack has no padding");
    if (inputs.source_valid) check_mask(method_, "source_valid", *inputs.source_valid, source);
    packed.source = source;
    if (inputs.source_cu_seqlens) {
      packed.source_cu = checked_cu(method_, "source_cu_seqlens", *inputs.source_cu_seqlens, source);
      LONGSPAN_CHECK(packed.source_cu->numel() == packed.cu->numel(), method_,
                     ": source_cu_seqlens must have as many sequences as cu_seqlens, ", packed.cu->numel() - 1,
                     ", got ", packed.source_cu->numel() - 1);
    }
    gaps = gaps || has_gaps(inputs.source_valid);
    if (gaps) {
      const Pack sources = pack_or_flatten(source, inputs.source_valid);
      packed.source = sources.rows;
      packed.source_cu = sources.cu;
    }
  }
  if (inputs.global_tokens) {
    LONGSPAN_CHECK(properties().global_tokens, method_, ": global_tokens has no use in this attention, got some");
    check_mask(method_, "global_tokens", *inputs.global_tokens, x);
    packed.global_tokens = inputs.global_tokens;
  }
  if (observer_) observer_(x);
  if (!gaps) return forward_packed(x, packed);
  if (!properties().packs_padding) {
    packed.valid = inputs.valid;
    const at::Tensor invalid = inputs.valid->logical_not().unsqueeze(-1);
    return forward_packed(x.masked_fill(invalid, 0), packed).masked_fill(invalid, 0);
  }

  const Pack tokens = pack_or_flatten(x, inputs.valid);
  packed.cu = tokens.cu;
  if (packed.global_tokens)
    packed.global_tokens = packed.global_tokens->reshape({-1}).index_select(0, tokens.index).unsqueeze(0);
  const at::Tensor y = forward_packed(tokens.rows, packed);
  return inputs.valid ? unpack(y, tokens, x.size(0), x.size(1)) : y.view(x.sizes());
}

State Attention::begin(int64_t batch) {
  LONGSPAN_CHECK(pattern_ == Pattern::causal_self, method_, ": begin(batch) needs the pattern causal_self, got ",
                 to_string(pattern_), is_cross(pattern_) ? " (a cross pattern begins with its source)" : "");
  LONGSPAN_CHECK(batch >= 0, method_, ": batch must be at least 0, got ", batch);
  return begin_self(batch);
}

State Attention::begin(const at::Tensor& source, const std::optional<at::Tensor>& source_valid) {
  LONGSPAN_CHECK(is_cross(pattern_), method_, ": begin(source) needs a cross pattern, got ", to_string(pattern_));
  check_rows(*this, "source", source, sizes_.source_width > 0 ? sizes_.source_width : sizes_.width);
  if (source_valid) check_mask(method_, "source_valid", *source_valid, source);
  if (!has_gaps(source_valid)) return begin_cross(source, std::nullopt, source.size(0));
  const Pack sources = pack(source, *source_valid);
  return begin_cross(sources.rows, sources.cu, source.size(0));
}

at::Tensor Attention::extend(State& state, const at::Tensor& x, const std::optional<at::Tensor>& valid) {
  LONGSPAN_CHECK(pattern_ != Pattern::noncausal_self, method_,
                 ": extend needs a causal_self or cross pattern, got noncausal_self");
  check_rows(*this, "x", x, sizes_.width);
  LONGSPAN_CHECK(!state.tensors().empty(), method_, ": state is empty; begin() makes one");
  const StateLayout layout = state_layout();
  if (!layout.empty()) check_state(method_, state, layout, x.device());
  LONGSPAN_CHECK(state.batch() == x.size(0), method_, ": state must have the batch of x, ", x.size(0), ", got ",
                 state.batch());
  if (state.contains("count")) check_room(method_, state.at("count"), x.size(1));
  if (valid) check_mask(method_, "valid", *valid, x);
  if (observer_) observer_(x);
  if (!has_gaps(valid)) return extend_packed(state, x, std::nullopt);
  const Pack tokens = pack(x, *valid);
  return unpack(extend_packed(state, tokens.rows, tokens.cu), tokens, x.size(0), x.size(1));
}

std::map<std::string, at::Tensor> Attention::inspect(const at::Tensor& x, const std::optional<at::Tensor>& source) {
  check_rows(*this, "x", x, sizes_.width);
  LONGSPAN_CHECK(source.has_value() == is_cross(pattern_), method_, ": source must ",
                 is_cross(pattern_) ? "be given" : "not be given", " in the pattern ", to_string(pattern_), ", got ",
                 source ? "one" : "none");
  if (source) {
    check_rows(*this, "source", *source, sizes_.source_width > 0 ? sizes_.source_width : sizes_.width);
    LONGSPAN_CHECK(source->size(0) == x.size(0), method_, ": source must have the batch of x, ", x.size(0), ", got ",
                   source->size(0));
  }
  const at::NoGradGuard no_grad;
  return inspect_dense(x, source);
}

std::map<std::string, at::Tensor> Attention::inspect_dense(const at::Tensor&, const std::optional<at::Tensor>&) {
  throw InputError(str_cat(method_, ": the method has nothing to show of its inside"));
}

std::unique_ptr<Inspection> Attention::begin_inspection() {
  throw InputError(str_cat(method_, ": the method has nothing to show of its inside"));
}

void Attention::ablate(const std::string& part, const std::string& way) {
  const std::vector<std::string> offered = ablations();
  if (std::find(offered.begin(), offered.end(), part + "=" + way) != offered.end()) return set_ablation(part, way);
  std::string known;
  for (const std::string& entry : offered) known += (known.empty() ? "" : ", ") + entry;
  throw InputError(known.empty() ? str_cat(method_, ": nothing can be ablated, got ", part, "=", way)
                                 : str_cat(method_, ": ablation must be one of ", known, ", got ", part, "=", way));
}

}  // namespace longspan::nn
