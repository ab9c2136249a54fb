// Negative log-likelihoods, in nats, in the units that publications give them in.
#pragma once

#include <cmath>
#include <numbers>

namespace longspan::metrics {

/// Of a sum or a mean; NaN stays NaN.
inline double bits(double nats) { return nats / std::numbers::ln2; }

/// exp(mean nats of a token).
inline double perplexity(double mean_nats) { return std::exp(mean_nats); }

/// Sum of nats over some tokens and the bytes of text behind them. With one byte a token this is bits per byte of the
/// mean; with the characters of the text instead, bits per character; with the sub-pixels of images, bits per
/// dimension.
inline double bits_per_byte(double nats, double bytes) { return bits(nats) / bytes; }

/// What publications on masked models of documents call BPC: the mean nats of the hidden tokens in bits, one per token
/// and not per character.
inline double masked_bpc(double mean_nats) { return bits(mean_nats); }

}  // namespace longspan::metrics
