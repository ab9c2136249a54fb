#include "longspan/nn/lavo_options.h"

namespace longspan::nn {

const FieldTable<LavoOptions>& lavo_fields() {
  using O = LavoOptions;
  auto modes = kOrthogonalModes;
  modes.emplace_back("free", BasisMode::free);
  static const auto table =
      with_position_table(FieldTable<O>("lavo")
                              .integer("r", &O::r, {1, 1 << 16}, "memory slots per head, at most the head width")
                              .integer("w", &O::w, {1, 1 << 20}, "local window: keys at a distance below w"))
          .choice(
              "basis_mode", &O::basis_mode, modes,
              "frozen: not trained; qr: trained, orthogonal again after every step; cayley, householder: orthogonal "
              "by their parameters; soft: a penalty in the loss; free: orthogonal start only")
          .choice("basis_sharing", &O::basis_sharing, kBasisSharings,
                  "one basis per head, one for all heads, or the heads' columns of one basis as wide as the model")
          .real("basis_gain", &O::basis_gain, {1e-6, 1e6}, "norm of the basis rows")
          .real("basis_penalty", &O::basis_penalty, {0, 1e6},
                "basis_mode soft: factor of the squared departure from orthogonality in the loss")
          .choice("score_scale", &O::score_scale,
                  {{"one", O::ScoreScale::one},
                   {"inv_sqrt_d", O::ScoreScale::inv_sqrt_d},
                   {"learned", O::ScoreScale::learned},
                   {"constant", O::ScoreScale::constant}},
                  "factor of the slot scores: 1, 1 / sqrt(head width), one trained factor per head, or score_constant")
          .real("score_constant", &O::score_constant, {0, 1e6}, "score_scale constant: the factor")
          .choice("combine", &O::combine,
                  {{"mean", O::Combine::mean}, {"local", O::Combine::local}, {"global", O::Combine::global}},
                  "output: mean of the local and the global branch, or one of them; cross patterns: global")
          .choice("memory_proj", &O::memory_proj,
                  {{"value", O::MemoryProjection::value},
                   {"key", O::MemoryProjection::key},
                   {"own", O::MemoryProjection::own},
                   {"input_slice", O::MemoryProjection::input_slice}},
                  "what the memory is fed from: the values, the keys, a projection of its own, or the layer's input")
          .choice("memory_input", &O::memory_input,
                  {{"aggregated", O::MemoryInput::aggregated}, {"raw", O::MemoryInput::raw}},
                  "what is compressed: features aggregated by local attention, or the features themselves")
          .choice("history_attention", &O::history_attention,
                  {{"shared", O::History::shared},
                   {"block_causal", O::History::block_causal},
                   {"block_bidirectional", O::History::block_bidirectional}},
                  "what aggregates: the local attention itself, or attention inside each window, causal or not")
          .choice("memory_update", &O::memory_update,
                  {{"token", O::MemoryUpdate::token}, {"window", O::MemoryUpdate::window}},
                  "causal: a position's memory holds all tokens up to it, or the complete windows before its own")
          .choice("empty_memory", &O::empty_memory,
                  {{"zero", O::EmptyMemory::zero}, {"local_only", O::EmptyMemory::local_only}},
                  "memory_update window, in the first window: a memory of zeros, or the local branch alone")
          .choice("accumulator", &O::accumulator,
                  {{"float64", O::Accumulator::float64},
                   {"float32_compensated", O::Accumulator::float32_compensated},
                   {"float32", O::Accumulator::float32}},
                  "type of the memory's running sums")
          .real("dropout", &O::dropout, {0, 0.99}, "on the local attention's probabilities, in training")
          .real("slot_dropout", &O::slot_dropout, {0, 0.99}, "on the reading weights of the slots, in training");
  return table;
}

std::vector<std::string> lavo_unused(Pattern pattern) {
  if (pattern == Pattern::causal_self) return {};
  if (pattern == Pattern::noncausal_self) return {"memory_update", "empty_memory"};
  return {"w",       "epe",          "epe_sharing",       "epe_init",      "combine",
          "dropout", "memory_input", "history_attention", "memory_update", "empty_memory"};
}

const std::vector<IdleRule>& lavo_idle() {
  using std::string;
  static const std::vector<IdleRule> rules = [] {
    const IdleRule::Setting raw = {"memory_input", string("raw")}, token = {"memory_update", string("token")};
    const IdleRule::Setting local = {"combine", string("local")}, global = {"combine", string("global")};
    const IdleRule::Setting local_first = {"empty_memory", string("local_only")};
    return std::vector<IdleRule>{
        {.when = {local},
         .idle = {"r", "basis_mode", "basis_sharing", "basis_gain", "basis_penalty", "score_scale", "score_constant",
                  "memory_proj", "memory_input", "history_attention", "memory_update", "empty_memory", "accumulator",
                  "slot_dropout"}},
        {.when = {raw}, .idle = {"history_attention"}},
        {.when = {token}, .idle = {"empty_memory"}},
        // Nothing attends locally.
        {.when = {global, raw}, .unless = {local_first}, .idle = {"epe", "epe_sharing", "epe_init", "dropout"}},
        {.when = {global, raw, token}, .idle = {"w"}},
        {.when = {{"epe", false}}, .idle = {"epe_sharing", "epe_init"}},
        {.unless = {{"score_scale", string("constant")}}, .idle = {"score_constant"}},
        {.unless = {{"basis_mode", string("soft")}}, .idle = {"basis_penalty"}},
    };
  }();
  return rules;
}

LavoOptions resolved_lavo(Pattern pattern, const AttentionSizes& sizes, LavoOptions options) {
  using O = LavoOptions;
  lavo_fields().validate(options);
  if (is_cross(pattern)) {
    LONGSPAN_CHECK(options.combine != O::Combine::local, "lavo: combine must be global in the pattern ",
                   to_string(pattern), ", got local");
    LONGSPAN_CHECK(options.memory_proj != O::MemoryProjection::input_slice || sizes.source_width == 0 ||
                       sizes.source_width == sizes.width,
                   "lavo: memory_proj = input_slice needs a source as wide as the model, ", sizes.width, ", got ",
                   sizes.source_width);
    options.combine = O::Combine::global;
    options.memory_input = O::MemoryInput::raw;
    options.history_attention = O::History::shared;
  }
  if (pattern == Pattern::causal_self)
    LONGSPAN_CHECK(options.history_attention != O::History::block_bidirectional ||
                       options.memory_update == O::MemoryUpdate::window,
                   "lavo: history_attention = block_bidirectional needs memory_update = window in the pattern "
                   "causal_self, got token: tokens would see the rest of their window");
  refuse_idle("lavo", lavo_idle(), lavo_fields().infos(), lavo_fields().values(options));
  if (options.combine != O::Combine::local)
    LONGSPAN_CHECK(options.r <= sizes.head_width(), "LAVO: r = ", options.r,
                   " directions cannot be orthogonal in a head of width d = ", sizes.head_width(),
                   "; choose r <= d or more width per head");
  return options;
}

LavoParts::LavoParts(Pattern pattern, const LavoOptions& o) {
  using O = LavoOptions;
  memory = o.combine != O::Combine::local;
  const bool local_first = memory && pattern == Pattern::causal_self && o.memory_update == O::MemoryUpdate::window &&
                           o.empty_memory == O::EmptyMemory::local_only;
  output = o.combine != O::Combine::global || local_first;
  aggregated = memory && o.memory_input == O::MemoryInput::aggregated;
  local = output || aggregated;
  keys = local || (memory && o.memory_proj == O::MemoryProjection::key);
  values = output || (memory && o.memory_proj == O::MemoryProjection::value);
  own = memory && o.memory_proj == O::MemoryProjection::own;
}

}  // namespace longspan::nn
