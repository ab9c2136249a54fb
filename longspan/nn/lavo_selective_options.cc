#include "longspan/nn/lavo_selective_options.h"

namespace longspan::nn {

const FieldTable<LavoSelectiveOptions>& lavo_selective_fields() {
  using O = LavoSelectiveOptions;
  static const auto table =
      with_position_table(
          FieldTable<O>("lavo_selective")
              .integer(
                  "r", &O::r, {1, 256},
                  "memory slots per head, each a vector of the head width; at most the head width where addresses are "
                  "orthonormal")
              .integer("w", &O::w, {1, 1 << 20}, "local window: keys at a distance below w")
              .boolean("delta", &O::delta,
                       "true: a write replaces what its address reads so far (delta rule); false: it is added to it")
              .choice(
                  "decay", &O::decay,
                  {{"none", MemoryDecay::none}, {"scalar", MemoryDecay::scalar}, {"per_slot", MemoryDecay::per_slot}},
                  "forgetting: never, by one rate a token and head, or by one for every slot besides")
              .choice(
                  "addresses", &O::addresses,
                  {{"orthonormal", O::Addresses::orthonormal},
                   {"free", O::Addresses::free},
                   {"softmax", O::Addresses::softmax}},
                  "how keys and queries address the slots: unit vectors through orthonormal rows, unit vectors through "
                  "trained rows of any kind, or softmax weights")
              .choice("basis_mode", &O::basis_mode, kOrthogonalModes,
                      "of orthonormal addresses, frozen: not trained; qr: trained, orthonormal again after every step; "
                      "cayley, householder: orthonormal by their parameters; soft: a penalty in the loss")
              .choice("basis_sharing", &O::basis_sharing, kBasisSharings,
                      "rows of each head, of all heads alike, or the heads' columns of rows as wide as the model")
              .real("basis_gain", &O::basis_gain, {1e-6, 1e6},
                    "addresses softmax: norm of the rows at the start, the more the sharper")
              .real("basis_penalty", &O::basis_penalty, {0, 1e6},
                    "basis_mode soft: factor of the squared departure from orthonormality in the loss")
              .boolean("conv", &O::conv,
                       "a causal convolution along the memory's keys, so that a write is found by the token before it")
              .integer("conv_width", &O::conv_width, {1, 64}, "conv: keys that it reads, the newest included")
              .boolean("share_qk", &O::share_qk, "the memory reads the local branch's queries and keys, not its own")
              .boolean("tied_init", &O::tied_init, "the memory's queries start equal to its keys")
              .real("gain_init", &O::gain_init, {-1e6, 1e6},
                    "start of the gain, one number a channel, by which what the memory gives enters the output"))
          .real("dropout", &O::dropout, {0, 0.99}, "on the local attention's probabilities, in training");
  return table;
}

std::vector<std::string> lavo_selective_unused(Pattern pattern) {
  if (pattern == Pattern::causal_self) return {};
  return {"w", "share_qk", "tied_init", "gain_init", "epe", "epe_sharing", "epe_init", "dropout"};
}

const std::vector<IdleRule>& lavo_selective_idle() {
  using std::string;
  static const std::vector<IdleRule> rules = {
      {.unless = {{"addresses", string("orthonormal")}}, .idle = {"basis_mode", "basis_penalty"}},
      {.unless = {{"addresses", string("softmax")}}, .idle = {"basis_gain"}},
      {.unless = {{"basis_mode", string("soft")}}, .idle = {"basis_penalty"}},
      {.when = {{"conv", false}}, .idle = {"conv_width"}},
      {.when = {{"share_qk", true}}, .idle = {"tied_init"}},
      {.when = {{"epe", false}}, .idle = {"epe_sharing", "epe_init"}},
  };
  return rules;
}

LavoSelectiveOptions resolved_lavo_selective(const AttentionSizes& sizes, LavoSelectiveOptions options) {
  lavo_selective_fields().validate(options);
  refuse_idle("lavo_selective", lavo_selective_idle(), lavo_selective_fields().infos(),
              lavo_selective_fields().values(options));
  if (options.addresses == LavoSelectiveOptions::Addresses::orthonormal)
    LONGSPAN_CHECK(options.r <= sizes.head_width(), "lavo_selective: r = ", options.r,
                   " addresses cannot be orthonormal in a head of width d = ", sizes.head_width(),
                   "; choose r <= d, more width per head, or addresses = free");
  return options;
}

std::map<std::string, std::vector<int64_t>> lavo_selective_tables(const AttentionSizes& sizes,
                                                                  const LavoSelectiveOptions& options) {
  std::map<std::string, std::vector<int64_t>> out;
  if (options.epe) {
    const bool per_head = options.epe_sharing == LavoSelectiveOptions::TableSharing::per_head;
    out["position_table"] = {per_head ? sizes.heads : 1, 2 * options.w - 1};
  }
  // More slots than the head is wide.
  if (options.decay == MemoryDecay::per_slot && sizes.heads * options.r > sizes.width)
    out["forget.weight"] = {sizes.heads * options.r, sizes.width};
  const bool per_head = options.basis_sharing == BasisSharing::per_head;
  const int64_t width = options.basis_sharing == BasisSharing::sliced ? sizes.width : sizes.head_width();
  if ((per_head ? sizes.heads : 1) * options.r * width > sizes.width * sizes.width)
    out["basis"] = {per_head ? sizes.heads : 1, options.r, width};
  return out;
}

}  // namespace longspan::nn
