// The demo's measurements, each one filling in its part of the results.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clock.h"
#include "longspan/data/dataset.h"
#include "longspan/models/language_model.h"
#include "plan.h"
#include "results.h"
#include "tools/longspan/command.h"

namespace longspan::tool {

/// What every measurement works with.
struct DemoRun {
  const DemoPlan& plan;
  const CommonOptions& common;
  DemoResults& results;
  DemoClock& clock;
};

/// Trains one contender with one seed and saves it in `folder`. Throws Interrupted (after a checkpoint) on Ctrl-C.
std::shared_ptr<models::LanguageModel> train_contender(DemoRun& run, const Contender& contender, int64_t seed,
                                                       const Dataset& dataset, const std::string& folder);

/// Bits per byte on the held-out split for every length of the plan that fits in it; for lavo also with its memory
/// changed.
void evaluate_contender(DemoRun& run, const Contender& contender, int64_t seed, models::LanguageModel& model,
                        const Dataset& dataset);

/// A trained contender.
using Trained = std::pair<const Contender*, std::shared_ptr<models::LanguageModel>>;

/// Operators alone, every attention in the same rounds: time, and memory of the forward and backward pass.
void measure_operators(DemoRun& run);
/// The trained models as they read a stream token by token: time of one more after so many, and the state.
void measure_streams(DemoRun& run, const std::vector<Trained>& models, const Dataset& dataset);

/// Trains each memory on recall and asks it, on rows as long as those of training and longer.
void measure_recall(DemoRun& run);

/// What the memory of a LAVO model does with the first page of the held-out text.
void look_at_memory(DemoRun& run, models::LanguageModel& model, const Dataset& dataset);
/// A few lines drawn from the model after the beginning of the held-out text.
void draw_sample(DemoRun& run, models::LanguageModel& model, const Dataset& dataset);

}  // namespace longspan::tool
