#include "longspan/nn/diffuser_options.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "longspan/base/check.h"
#include "longspan/base/pattern_view.h"

namespace longspan::nn {
namespace {

using ops::DiffusionKind;

/// The pattern's options stand in a struct of their own, its name among them.
std::string joined_names() {
  std::string out;
  for (const std::string& name : patterns::pattern_names()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

const FieldTable<patterns::PatternOptions>& name_field() {
  static const auto table = FieldTable<patterns::PatternOptions>("pattern").text(
      "pattern", &patterns::PatternOptions::pattern,
      "which keys a query sees: a preset, a generator, or generators with '+' between (docs/patterns.md): " +
          joined_names());
  return table;
}

constexpr std::string_view kKept = "weights:";

bool is_pattern_field(const std::string& name) {
  const auto& infos = patterns::pattern_fields().infos();
  return name != "causal" &&
         std::any_of(infos.begin(), infos.end(), [&](const FieldInfo& info) { return info.name == name; });
}

}  // namespace

const FieldTable<DiffuserOptions>& diffuser_fields() {
  static const auto table =
      FieldTable<DiffuserOptions>("diffuser")
          .choice("diffusion", &DiffuserOptions::diffusion,
                  {{"ppr_iterate", DiffusionKind::ppr_iterate},
                   {"ppr_truncated", DiffusionKind::ppr_truncated},
                   {"heat", DiffusionKind::heat},
                   {"single", DiffusionKind::single},
                   {"learned", DiffusionKind::learned}},
                  "how hops are mixed: personalised PageRank as the paper iterates it, or as a cut series; the heat "
                  "kernel; one hop alone; trained weights for each head")
          .integer("hops", &DiffuserOptions::hops, {0, 256}, "K: how often attention is applied")
          .real("alpha", &DiffuserOptions::alpha, {0, 1},
                "ppr: weight of the values themselves in every hop; learned: its start")
          .boolean("learn_alpha", &DiffuserOptions::learn_alpha,
                   "ppr: train alpha, one for each head; it stays between 0 and 1")
          .real("t", &DiffuserOptions::t, {0, 1000}, "heat: mean number of hops before the series is cut at `hops`")
          .part(&DiffuserOptions::pattern, name_field())
          .part(&DiffuserOptions::pattern, patterns::pattern_fields(), {"causal"})
          .text("edges", &DiffuserOptions::edges,
                "generator edges: file of pairs, text or .safetensors, read when the model is made and "
                "kept with its weights")
          .integer("pattern_seed", &DiffuserOptions::pattern_seed, {0, 0x1p53}, "seed of random keys and global tokens")
          .boolean("seed_per_layer", &DiffuserOptions::seed_per_layer,
                   "every layer draws random keys and global tokens of its own")
          .choice("padding", &DiffuserOptions::padding,
                  {{"packed", DiffuserOptions::Padding::packed},
                   {"remove", DiffuserOptions::Padding::remove},
                   {"reference", DiffuserOptions::Padding::reference}},
                  "of a padded text: the pattern of its valid tokens alone; or that of the padded length, in which "
                  "pairs with padding are removed, or score -10000 as in the authors' code")
          .choice("empty_row", &DiffuserOptions::empty_row,
                  {{"alpha_v", DiffuserOptions::EmptyRow::alpha_v}, {"error", DiffuserOptions::EmptyRow::error}},
                  "a query without keys: only its own value remains, or an error")
          .real("attn_dropout", &DiffuserOptions::attn_dropout, {0, 0.99}, "on the attention weights, in training")
          .choice("dropout_mode", &DiffuserOptions::dropout_mode,
                  {{"once", DiffuserOptions::DropoutMode::once}, {"per_hop", DiffuserOptions::DropoutMode::per_hop}},
                  "attn_dropout: the same weights dropped in all hops, or others in each")
          .real("hop_dropout", &DiffuserOptions::hop_dropout, {0, 0.99}, "on the features after every hop, in training")
          .choice("backward", &DiffuserOptions::backward,
                  {{"recompute_slices", DiffuserOptions::Backward::recompute_slices},
                   {"store_all", DiffuserOptions::Backward::store_all},
                   {"recompute_quadratic", DiffuserOptions::Backward::recompute_quadratic}},
                  "states of the hops in training: formed again head by head, kept, or formed again hop by hop")
          .choice("edge_weights", &DiffuserOptions::edge_weights,
                  {{"stored", DiffuserOptions::EdgeWeights::stored},
                   {"recomputed", DiffuserOptions::EdgeWeights::recomputed}},
                  "attention weights: kept for the backward pass, or formed again in every hop");
  return table;
}

std::string name_of(const KeptEdges& edges) { return str_cat(kKept, edges.tokens, ":", edges.pairs); }

std::optional<KeptEdges> kept_edges(const std::string& edges) {
  if (!edges.starts_with(kKept)) return std::nullopt;
  KeptEdges out;
  const char *at = edges.data() + kKept.size(), *const end = edges.data() + edges.size();
  const auto tokens = std::from_chars(at, end, out.tokens);
  const bool colon = tokens.ec == std::errc() && tokens.ptr != end && *tokens.ptr == ':';
  const auto pairs = colon ? std::from_chars(tokens.ptr + 1, end, out.pairs) : tokens;
  LONGSPAN_CHECK(colon && pairs.ec == std::errc() && pairs.ptr == end && out.tokens >= 0 && out.tokens <= kMostTokens &&
                     out.pairs >= 0 && out.pairs < int64_t{1} << 32,
                 "diffuser: edges that begin with ", kKept, " are a saved model's, ", kKept,
                 "<tokens>:<pairs>; expected that or a file, got ", edges);
  return out;
}

DiffuserOptions diffuser_options(const FieldValues& values) {
  FieldValues own = values, of_pattern;
  for (const auto& [name, value] : values)
    if (is_pattern_field(name)) of_pattern[name] = value;
  DiffuserOptions out = diffuser_fields().parse(own);  // refuses unknown names
  try {
    out.pattern = patterns::pattern_options(out.pattern.pattern, of_pattern);
  } catch (const InputError& error) {
    throw InputError(str_cat("diffuser: ", error.what()));
  }
  return out;
}

FieldValues diffuser_values(const DiffuserOptions& options) {
  FieldValues out = diffuser_fields().values(options);
  for (const auto& [name, value] : patterns::pattern_values(options.pattern))
    if (is_pattern_field(name)) out[name] = value;
  return out;
}

std::vector<std::string> diffuser_unused(Pattern pattern) {
  return pattern == Pattern::causal_self ? std::vector<std::string>{"padding"} : std::vector<std::string>{};
}

const std::vector<IdleRule>& diffuser_idle() {
  using std::string;
  static const std::vector<IdleRule> rules = [] {
    const auto kind = [](const char* name) { return IdleRule::Setting{"diffusion", string(name)}; };
    return std::vector<IdleRule>{
        {.when = {kind("single")}, .idle = {"hops", "alpha", "learn_alpha"}},
        {.when = {kind("heat")}, .idle = {"alpha", "learn_alpha"}},
        {.when = {kind("learned")}, .idle = {"learn_alpha"}},
        {.unless = {kind("heat")}, .idle = {"t"}},
        {.when = {{"attn_dropout", 0.0}}, .idle = {"dropout_mode"}},
        {.when = {{"self_loops", true}}, .idle = {"empty_row"}},
    };
  }();
  return rules;
}

DiffuserOptions resolved_diffuser(Pattern pattern, DiffuserOptions options) {
  LONGSPAN_CHECK(!is_cross(pattern), "diffuser: a cross pattern has no sparse pattern, got ", to_string(pattern));
  diffuser_fields().validate(options);
  options.pattern.causal = pattern == Pattern::causal_self;
  patterns::check(options.pattern);
  refuse_idle("diffuser", diffuser_idle(), diffuser_fields().infos(), diffuser_fields().values(options));
  const bool trained = options.learn_alpha || options.diffusion == DiffusionKind::learned;
  LONGSPAN_CHECK(!trained || (options.alpha > 0 && options.alpha < 1),
                 "diffuser: alpha must lie between 0 and 1 where ",
                 options.learn_alpha ? "it is trained" : "trained weights start at it", ", got ", options.alpha);
  LONGSPAN_CHECK(options.padding == DiffuserOptions::Padding::packed || pattern == Pattern::noncausal_self,
                 "diffuser: padding must be packed in the pattern ", to_string(pattern));
  const bool needs_edges = patterns::uses(options.pattern, patterns::Generator::edges);
  LONGSPAN_CHECK(!needs_edges || !options.edges.empty(), "diffuser: the pattern ", options.pattern.pattern,
                 " needs edges, a file of pairs");
  LONGSPAN_CHECK(needs_edges || options.edges.empty(), "diffuser: edges has no use in the pattern ",
                 options.pattern.pattern, ", got ", options.edges);
  return options;
}

}  // namespace longspan::nn
