// demo/metrics.json: every number of the report, for scripts.
#pragma once

#include "longspan/io/json.h"
#include "plan.h"
#include "results.h"

namespace longspan::tool {

/// Means over seeds where there are several.
///   bits_per_byte: {attention: {length: value}}, blocks and bits_per_byte_range beside it in the same shape
///   training: {attention: {tokens, tokens_per_second, seconds, parameters, ...}}
///   speedup_forward_backward: {attention: {n: time(softmax) / time(attention)}}
///   memory_effect: {way: {length: change of LAVO's bits per byte}}
Json demo_metrics(const DemoPlan& plan, const DemoResults& results);

}  // namespace longspan::tool
