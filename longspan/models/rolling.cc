#include "longspan/models/rolling.h"

#include <ATen/TensorOperators.h>

#include <vector>

#include "longspan/nn/diffuser.h"
#include "longspan/nn/packing.h"

namespace longspan::models {

namespace {

/// The pattern of every layer rolled for as long as it lives.
class RolledPattern {
 public:
  RolledPattern(EncoderModel& model, const RollingOptions& options) : model_(model), is_on_(rolls(options)) {
    if (is_on_) set(options.pattern, options.rolling);
  }
  ~RolledPattern() {
    if (is_on_) set(nn::PatternRoll::none, {});
  }
  RolledPattern(const RolledPattern&) = delete;
  RolledPattern& operator=(const RolledPattern&) = delete;

  static bool rolls(const RollingOptions& options) { return options.pattern != nn::PatternRoll::none; }

 private:
  void set(nn::PatternRoll what, const nn::Rolling& rolling) {
    for (int64_t layer = 0; layer < model_.encoder_config().layers; ++layer)
      dynamic_cast<nn::DiffuserAttention&>(model_.encoder().attention(layer)).roll_pattern(what, rolling);
  }

  EncoderModel& model_;
  bool is_on_;
};

/// Whether tokens are to have other positions than their ranks in the rolled pack.
bool gives_positions(const RollingOptions& options) {
  return options.positions == RolledPositions::token || options.rolling.slots > 0;
}

}  // namespace

RolledPack rolled(const SequencePack& pack, const RollingOptions& options) {
  const std::vector<int64_t> border = nn::borders(pack.cu_seqlens);
  std::vector<int64_t> place, before, positions;
  for (std::size_t s = 0; s + 1 < border.size(); ++s) {
    const int64_t n = border[s + 1] - border[s], slots = options.rolling.slots;
    LONGSPAN_CHECK(slots == 0 || n <= slots, "rolling: a sequence has ", n, " tokens, but there are ", slots, " slots");
    const int64_t front = options.rolling.in_front(n);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t token = (i - front + n) % n;  // in row i
      place.push_back(border[s] + (i + front) % n);
      before.push_back(border[s] + token);
      positions.push_back(options.positions == RolledPositions::token ? token : options.rolling.slot_of(token, n));
    }
  }
  RolledPack out{pack, nn::index_tensor(place)};
  out.pack.tokens = pack.tokens.index_select(1, nn::index_tensor(before));
  if (gives_positions(options)) out.pack.positions = nn::index_tensor(positions).unsqueeze(0);
  return out;
}

void check_rolling(EncoderModel& model, const RollingOptions& options) {
  const EncoderConfig& config = model.encoder_config();
  LONGSPAN_CHECK(config.positions != Positions::rotary || !gives_positions(options),
                 "rolling: rotary positions are counted by the attention, so that tokens can neither carry theirs nor "
                 "stand among padding");
  LONGSPAN_CHECK(config.positions != Positions::learned || options.rolling.slots <= config.max_positions,
                 "rolling: the model has learnt ", config.max_positions, " positions, got ", options.rolling.slots,
                 " slots");
  LONGSPAN_CHECK(
      !RolledPattern::rolls(options) || dynamic_cast<nn::DiffuserAttention*>(&model.encoder().attention(0)) != nullptr,
      "rolling: the attention ", config.attention, " has no pattern that could be rolled too");
}

RolledHidden rolled_hidden(EncoderModel& model, const SequencePack& pack, const RollingOptions& options) {
  check_rolling(model, options);
  const RolledPack moved = rolled(pack, options);
  const RolledPattern with(model, options);
  const at::Tensor states = model.hidden(moved.pack);
  RolledHidden out;
  out.hidden = states.index_select(1, moved.place);
  out.for_head = out.hidden;
  if (options.feature == RolledFeature::slot) {
    const at::Tensor first = pack.cu_seqlens.narrow(0, 0, pack.cu_seqlens.size(0) - 1);
    out.for_head = out.hidden.index_copy(1, first, states.index_select(1, first));
  }
  return out;
}

}  // namespace longspan::models
