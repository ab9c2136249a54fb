// The models of the document demo, and the one number that says how good one is.
#pragma once

#include <string>

#include "longspan/metrics/metrics.h"
#include "longspan/models/encoder_config.h"
#include "longspan/text/tokenizer.h"
#include "plan.h"

namespace longspan::tool {

/// The encoder of a contender.
models::EncoderConfig encoder_of(const DocumentPlan& plan, const DocumentContender& contender,
                                 const Tokenizer& tokenizer);

/// Accuracy, or F1 of a question.
double score_in(const DocumentTask& task, const metrics::Metrics& measured);

}  // namespace longspan::tool
