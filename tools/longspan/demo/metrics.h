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
///   us_per_token_forward_backward, us_per_token_forward (operators), us_per_token_streaming (trained models, one token
///   after so many), bytes_per_token_forward_backward (peak), state_bytes: {attention: {n: value}}
///   recall: {pairs, steps, accuracy: {attention: {tokens of the row: value}}, standard_error: likewise}
///   break_even: {cost: {attention: length from which on it costs no more than softmax, null: never}}
///   training_curves: {attention: {seed: {tokens, mean, deviation}}}
Json demo_metrics(const DemoPlan& plan, const DemoResults& results);

}  // namespace longspan::tool
