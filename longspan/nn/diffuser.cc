#include "longspan/nn/diffuser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/nn/cost.h"
#include "longspan/nn/dense_weights.h"
#include "longspan/nn/dropout_seed.h"
#include "longspan/nn/packing.h"
#include "longspan/nn/rotary.h"

namespace longspan::nn {
namespace {

using ops::DiffusionKind;
using patterns::Generator;

bool is_ppr(DiffusionKind kind) { return kind == DiffusionKind::ppr_iterate || kind == DiffusionKind::ppr_truncated; }

/// Weights of V, A V, .., A^K V in the paper's iteration, logarithms.
at::Tensor log_ppr(double alpha, int64_t hops) {
  std::vector<double> out;
  for (int64_t k = 0; k < hops; ++k) out.push_back(std::log(alpha) + static_cast<double>(k) * std::log1p(-alpha));
  out.push_back(static_cast<double>(hops) * std::log1p(-alpha));
  return at::tensor(out, at::kDouble);
}

std::string_view name_of(DiffuserOptions::Padding value) {
  return value == DiffuserOptions::Padding::reference ? "reference" : "remove";
}
std::string_view name_of(DiffuserOptions::DropoutMode value) {
  return value == DiffuserOptions::DropoutMode::once ? "once" : "per_hop";
}
std::string_view name_of(DiffuserOptions::Backward value) {
  return value == DiffuserOptions::Backward::store_all          ? "store_all"
         : value == DiffuserOptions::Backward::recompute_slices ? "recompute_slices"
                                                                : "recompute_quadratic";
}
std::string_view name_of(DiffuserOptions::EdgeWeights value) {
  return value == DiffuserOptions::EdgeWeights::stored ? "stored" : "recomputed";
}

/// The true values of a mask [N] by their places.
std::vector<int64_t> places(const at::Tensor& mask) { return borders(mask.cpu().nonzero().squeeze(1).contiguous()); }

/// The parts of a pattern that can be left out.
struct Part {
  const char* name;
  std::vector<Generator> generators;
};
const std::vector<Part>& parts() {
  static const std::vector<Part> table = {
      {"local", {Generator::window_overlap, Generator::window_band, Generator::window_block}},
      {"random", {Generator::random, Generator::uniform}},
      {"global", {Generator::global}}};
  return table;
}

/// The generators of a part that stand in the pattern.
std::vector<Generator> generators_of(const Part& part, const patterns::PatternOptions& pattern) {
  std::vector<Generator> out;
  for (const Generator generator : part.generators)
    if (patterns::uses(pattern, generator)) out.push_back(generator);
  return out;
}

/// Whether a part stands in the pattern beside others.
bool has_part(const patterns::PatternOptions& pattern, const Part& part) {
  const std::size_t own = generators_of(part, pattern).size();
  return own > 0 && own < patterns::generators_of(pattern).size();
}

}  // namespace

DiffuserAttention::DiffuserAttention(Pattern pattern, AttentionSizes sizes, DiffuserOptions options)
    : Attention("diffuser", pattern, sizes),
      options_(resolved_diffuser(pattern, std::move(options))),
      project_(*this, sizes, pattern) {
  const double alpha = options_.alpha;
  if (options_.learn_alpha)
    alpha_logit_ = register_parameter("alpha_logit", torch::full({sizes.heads}, std::log(alpha) - std::log1p(-alpha)));
  if (options_.diffusion == DiffusionKind::learned)
    hop_logits_ = register_parameter(
        "hop_logits", log_ppr(alpha, options_.hops).to(torch::get_default_dtype_as_scalartype()).repeat(sizes.heads));
  if (patterns::uses(options_.pattern, Generator::edges)) keep_edges();
}

std::shared_ptr<DiffuserPatterns> DiffuserAttention::own_patterns() const {
  const std::lock_guard lock(*patterns_mutex_);
  // Weights may have been read into the module.
  const int64_t version = edge_keys_.defined() ? edge_begin_._version() + edge_keys_._version() : 0;
  if (patterns_ == nullptr || version != patterns_version_) {
    const auto seed = static_cast<uint64_t>(options_.pattern_seed);
    const int64_t layer = options_.seed_per_layer ? sizes().layer : 0;
    patterns_ = shared_diffuser_patterns(options_.pattern, generators_off_, seed, layer, edges());
    patterns_version_ = version;
  }
  return patterns_;
}

FieldValues DiffuserAttention::options() const {
  return with_nulls(diffuser_values(options_), diffuser_unused(pattern()));
}

AttentionProperties DiffuserAttention::properties() const {
  const patterns::PatternOptions& pattern = options_.pattern;
  AttentionProperties out;
  out.bitwise = true;
  out.length_free = !causal() || patterns::length_dependence(pattern).empty();
  out.packs_padding = options_.padding == DiffuserOptions::Padding::packed;
  const bool with_global =
      patterns::uses(pattern, patterns::Generator::global) || patterns::uses(pattern, patterns::Generator::longformer);
  out.global_tokens = with_global && !causal();
  if (pattern.fit == patterns::Fit::cut) out.max_length = pattern.max_len;
  return out;
}

AttentionCost DiffuserAttention::cost(int64_t queries, int64_t keys) const {
  const int64_t width = sizes().head_width(), key_width = sizes().key_heads() * width;
  const auto pairs = static_cast<double>(own_patterns()->pairs(queries, keys));
  AttentionCost out;
  out.flops = 2 * pairs * static_cast<double>(sizes().width * (1 + hops()));
  out.bytes = row_bytes(queries, keys, sizes().width, key_width);
  if (causal() && patterns::length_dependence(options_.pattern).empty()) {
    const int64_t kept = own_patterns()->kept(keys).size();
    out.state_bytes = 4 * static_cast<double>(kept * (key_width + hops() * sizes().width)) + 8;
  }
  return out;
}

at::Tensor DiffuserAttention::coefficients(const at::Tensor& q) const {
  std::optional<at::Tensor> alpha, t, logits;
  const DiffusionKind kind = single() ? DiffusionKind::single : options_.diffusion;
  const auto number = [](double value) { return at::scalar_tensor(value, at::kDouble); };
  if (is_ppr(kind)) alpha = alpha_logit_.defined() ? alpha_logit_.to(at::kDouble).sigmoid() : number(options_.alpha);
  if (kind == DiffusionKind::heat) t = number(options_.t);
  if (kind == DiffusionKind::learned) logits = hop_logits_.to(at::kDouble).view({sizes().heads, options_.hops + 1});
  const auto dtype = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return ops::diffusion_coefficients(kind, options_.hops, alpha, t, logits).to(q.device(), dtype);
}

ops::DiffusionOptions DiffuserAttention::operator_options() const {
  ops::DiffusionOptions out;
  out.padding = name_of(options_.padding);
  out.backward = name_of(options_.backward);
  out.edge_weights = name_of(options_.edge_weights);
  if (is_training() && (options_.attn_dropout > 0 || options_.hop_dropout > 0)) {
    out.attention_dropout = options_.attn_dropout;
    out.dropout_mode = name_of(options_.dropout_mode);
    out.hop_dropout = options_.hop_dropout;
    out.dropout_seed = dropout_seed();
  }
  return out;
}

at::Tensor DiffuserAttention::checked(const DiffuserPatterns::Entry& entry) const {
  LONGSPAN_CHECK(options_.empty_row == DiffuserOptions::EmptyRow::alpha_v || entry.empty_row < 0,
                 "diffuser: empty_row = error and token ", entry.empty_row, " has no key in the pattern ",
                 own_patterns()->options().pattern, "; self_loops = true gives every token itself");
  return entry.tensor;
}

at::Tensor DiffuserAttention::pattern_of_text(int64_t n, const GlobalTokens& global) const {
  return checked(own_patterns()->rolled(n, global, roll_, rolling_.in_front(n)));
}

void DiffuserAttention::roll_pattern(PatternRoll what, const Rolling& rolling) {
  LONGSPAN_CHECK(what == PatternRoll::none || !causal(),
                 "diffuser: a causal pattern cannot be rolled: its text has a beginning");
  LONGSPAN_CHECK(what != PatternRoll::global_tokens || properties().global_tokens, "diffuser: the pattern ",
                 options_.pattern.pattern, " has no global tokens to be rolled");
  roll_ = what;
  rolling_ = rolling;
}

ops::DiffusionPatterns DiffuserAttention::choose_patterns(const at::Tensor& q, const Packed& packed) const {
  if (!packed.cu && !packed.global_tokens) return {{pattern_of_text(q.size(2))}};
  std::vector<std::pair<int64_t, GlobalTokens>> wanted;  // of each sequence
  if (packed.cu) {
    const std::vector<int64_t> starts = borders(*packed.cu);
    for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
      const int64_t length = starts[s + 1] - starts[s];
      GlobalTokens global;
      if (packed.global_tokens) global = places(packed.global_tokens->select(0, 0).narrow(0, starts[s], length));
      wanted.emplace_back(length, std::move(global));
    }
  } else {
    for (int64_t b = 0; b < q.size(0); ++b) wanted.emplace_back(q.size(2), places(packed.global_tokens->select(0, b)));
  }
  ops::DiffusionPatterns out;
  std::vector<std::pair<int64_t, GlobalTokens>> made;
  std::vector<int64_t> number;
  for (const auto& want : wanted) {
    const auto found = std::find(made.begin(), made.end(), want);
    number.push_back(found - made.begin());
    if (found != made.end()) continue;
    made.push_back(want);
    out.patterns.push_back(pattern_of_text(want.first, want.second));
  }
  if (out.patterns.empty()) out.patterns.push_back(own_patterns()->of_length(0).tensor);
  out.pattern_of = index_tensor(number);
  return out;
}

at::Tensor DiffuserAttention::attend_packed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                            const Packed& packed) const {
  ops::DiffusionOptions options = operator_options();
  options.cu_seqlens = packed.cu;
  options.valid = packed.valid;
  return ops::diffusion(q, k, v, coefficients(q), choose_patterns(q, packed), options);
}

at::Tensor DiffuserAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return attend_packed(q, k, v, {});
}

at::Tensor DiffuserAttention::merge(at::Tensor heads) { return project_.merge(head_ablation_.apply(heads)); }

at::Tensor DiffuserAttention::forward_packed(const at::Tensor& x, const Packed& packed) {
  const RotaryPositions rotary(sizes(), x, packed.cu);
  const at::Tensor q = rotary.turn(project_.queries(x)), k = rotary.turn(project_.keys(x));
  return merge(attend_packed(q, k, project_.values(x), packed));
}

std::vector<std::string> DiffuserAttention::ablations() const {
  std::vector<std::string> out;
  if (options_.diffusion != DiffusionKind::single) out = {"diffusion=none", "diffusion=single"};
  for (const Part& part : parts())
    if (has_part(options_.pattern, part))
      out.insert(out.end(), {str_cat(part.name, "=none"), str_cat(part.name, "=off")});
  HeadAblation::offer(out, sizes().heads);
  return out;
}

void DiffuserAttention::set_ablation(const std::string& part, const std::string& way) {
  if (part == "diffusion") single_hop_ = way == "single";
  if (part == "head") head_ablation_.set(way);
  for (const Part& candidate : parts()) {
    if (part != candidate.name) continue;
    const std::vector<Generator> own = generators_of(candidate, options_.pattern);
    std::vector<Generator> off = generators_off_;
    std::erase_if(off, [&](Generator generator) { return std::find(own.begin(), own.end(), generator) != own.end(); });
    if (way == "off") off.insert(off.end(), own.begin(), own.end());
    LONGSPAN_CHECK(off.size() < patterns::generators_of(options_.pattern).size(), "diffuser: the ablation ", part,
                   "=off would leave nothing of the pattern ", options_.pattern.pattern);
    const std::lock_guard lock(*patterns_mutex_);
    generators_off_ = std::move(off);
    patterns_ = nullptr;
  }
}

std::map<std::string, at::Tensor> DiffuserAttention::inspect_dense(const at::Tensor& x,
                                                                   const std::optional<at::Tensor>&) {
  const RotaryPositions rotary(sizes(), x, std::nullopt);
  const int64_t length = x.size(1), heads = sizes().heads;
  const at::Tensor q = rotary.turn(project_.queries(x)), k = rotary.turn(project_.keys(x));
  const patterns::Csr pairs = ops::pattern_of_tensor(checked(own_patterns()->of_length(length))).csr();
  const at::Tensor allowed = at::zeros({length, length}, at::kBool);
  for (int64_t i = 0; i < length; ++i)
    for (const int32_t j : pairs.row(i)) allowed.data_ptr<bool>()[i * length + j] = true;
  const at::Tensor weights = dense_weights(q, k, allowed.logical_not().to(x.device()));

  const at::Tensor polynomial =
      ops::diffusion_polynomial(coefficients(q.to(at::kDouble)).expand({heads, 2 * hops() + 1}));
  const at::Tensor values = spread_heads(project_.values(x).to(at::kDouble), heads);
  return {{"weights", weights}, {"polynomial", polynomial}, {"values", values}};
}

}  // namespace longspan::nn
