#include "longspan/train/options.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "longspan/base/check.h"

namespace longspan::train {

const FieldTable<TrainOptions>& train_fields() {
  constexpr double kLarge = 1e12;
  static const auto table =
      FieldTable<TrainOptions>("train")
          .integer("steps", &TrainOptions::steps, {1, kLarge}, "optimizer steps")
          .integer("batch", &TrainOptions::batch, {1, 1 << 20},
                   "sequences a step, all micro-batches and processes together")
          .integer("length", &TrainOptions::length, {1, 1 << 30}, "tokens a sequence")
          .integer("accumulation", &TrainOptions::accumulation, {1, 1 << 20},
                   "parts of a step's sequences that are worked off one after the other; less memory, the same result")
          .real("learning_rate", &TrainOptions::learning_rate, {0, 10}, "after the warm-up")
          .choice("schedule", &TrainOptions::schedule,
                  {{"cosine", Schedule::cosine},
                   {"inverse_sqrt", Schedule::inverse_sqrt},
                   {"constant", Schedule::constant}},
                  "learning rate after the warm-up; inverse_sqrt: falls with the root of the step")
          .integer("warmup", &TrainOptions::warmup, {0, kLarge}, "steps of linear increase")
          .real("min_lr_ratio", &TrainOptions::min_lr_ratio, {0, 1},
                "where the schedule ends, relative to learning_rate")
          .real("weight_decay", &TrainOptions::weight_decay, {0, 10}, "decoupled, on matrices")
          .real("beta1", &TrainOptions::beta1, {0, 0.9999}, "decay of the mean gradient")
          .real("beta2", &TrainOptions::beta2, {0, 0.99999}, "decay of the mean squared gradient")
          .real("epsilon", &TrainOptions::epsilon, {1e-16, 1}, "added to the root of the mean square")
          .real("clip", &TrainOptions::clip, {0, kLarge}, "bound of the gradient norm, 0 = none")
          .integer("seed", &TrainOptions::seed, {0, 0x1p53}, "of initial weights, windows and dropout")
          .choice(
              "sequences", &TrainOptions::sequences,
              {{"windows", Sequences::windows}, {"documents", Sequences::documents}, {"carried", Sequences::carried}},
              "windows: random places; documents: whole ones, packed; carried: on and on, with the state kept")
          .boolean("reset_at_documents", &TrainOptions::reset_at_documents,
                   "carried: every document begins with an empty state")
          .choice("autocast", &TrainOptions::autocast,
                  {{"none", Autocast::none}, {"bf16", Autocast::bf16}, {"auto", Autocast::automatic}},
                  "bfloat16 matrix products; auto: where the processor has them")
          .choice("recompute", &TrainOptions::recompute,
                  {{"none", Recompute::none}, {"blocks", Recompute::blocks}, {"auto", Recompute::automatic}},
                  "blocks: form activations again in the backward pass, for memory; auto: where they are many")
          .integer("loss_chunk", &TrainOptions::loss_chunk, {0, 1 << 24},
                   "rows of logits at a time, 0 = by the vocabulary")
          .integer("peer_timeout", &TrainOptions::peer_timeout, {1, 1e6},
                   "seconds that processes wait for each other before they give up")
          .integer("checkpoint_every", &TrainOptions::checkpoint_every, {0, kLarge}, "steps, 0 = at the end")
          .integer("keep_last", &TrainOptions::keep_last, {1, 1e6}, "newest checkpoints that are kept")
          .integer("keep_best", &TrainOptions::keep_best, {0, 1e6},
                   "checkpoints of lowest validation loss that are kept besides; a better validation writes one")
          .integer("valid_every", &TrainOptions::valid_every, {0, kLarge}, "steps, 0 = at the end")
          .integer("valid_blocks", &TrainOptions::valid_blocks, {1, 1 << 20}, "validation windows")
          .real("epe_lr_factor", &TrainOptions::epe_lr_factor, {0, 1000}, "learning rate of position tables, relative");
  return table;
}

void validate(const TrainOptions& options, int64_t processes) {
  train_fields().validate(options);
  LONGSPAN_CHECK(options.batch % (options.accumulation * processes) == 0,
                 "train: batch must be a multiple of accumulation times the number of processes, got batch ",
                 options.batch, ", accumulation ", options.accumulation, " and ", processes,
                 processes == 1 ? " process" : " processes");
  LONGSPAN_CHECK(options.sequences == Sequences::carried || !options.reset_at_documents,
                 "train: reset_at_documents has a use with sequences = carried alone");
}

Json to_json(const TrainOptions& options) {
  Json json = Json::object();
  const FieldValues values = train_fields().values(options);
  for (const auto& info : train_fields().infos()) json[info.name] = longspan::to_json(values.at(info.name));
  return json;
}

void merge_json(TrainOptions& options, const Json& json) {
  train_fields().apply(options, to_field_values(json, "train"));
}

double learning_rate(const TrainOptions& options, int64_t step) {
  if (step < options.warmup)
    return options.learning_rate * static_cast<double>(step) / static_cast<double>(options.warmup);
  const double least = options.min_lr_ratio;
  switch (options.schedule) {
    case Schedule::constant:
      return options.learning_rate;
    case Schedule::inverse_sqrt: {
      const double from = static_cast<double>(std::max<int64_t>(options.warmup, 1));
      return options.learning_rate * std::max(least, std::sqrt(from / static_cast<double>(std::max<int64_t>(step, 1))));
    }
    case Schedule::cosine:
      break;
  }
  const double span = static_cast<double>(std::max<int64_t>(options.steps - options.warmup, 1));
  const double done = std::clamp(static_cast<double>(step - options.warmup) / span, 0.0, 1.0);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * done));
  return options.learning_rate * (least + (1 - least) * cosine);
}

}  // namespace longspan::train
