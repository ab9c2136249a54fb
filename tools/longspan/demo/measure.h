// The demo's measurements, each one filling in its part of the results.
#pragma once

#include <memory>
#include <string>

#include "longspan/data/dataset.h"
#include "longspan/models/language_model.h"
#include "plan.h"
#include "results.h"
#include "tools/longspan/command.h"

namespace longspan::tool {

/// Trains one contender with one seed and saves it in `folder`. Throws Interrupted (after a checkpoint) on Ctrl-C.
std::shared_ptr<models::LanguageModel> train_contender(const DemoPlan& plan, const Contender& contender, int64_t seed,
                                                       const Dataset& dataset, const std::string& folder,
                                                       const CommonOptions& common, DemoResults& results);

/// Bits per byte on the held-out split for every length of the plan that fits in it; for lavo also with its memory
/// changed.
void evaluate_contender(const DemoPlan& plan, const Contender& contender, int64_t seed, models::LanguageModel& model,
                        const Dataset& dataset, const CommonOptions& common, DemoResults& results);

/// Operators alone, every attention in the same rounds.
void measure_speed(const DemoPlan& plan, const CommonOptions& common, DemoResults& results);

/// A few lines drawn from the model after the beginning of the held-out text.
void draw_sample(models::LanguageModel& model, const Dataset& dataset, DemoResults& results);

}  // namespace longspan::tool
