// The property harness: what must hold of every attention, checked without knowing how it works.
//
//     for (const auto& result : check_properties({"mine", [] { return std::make_shared<MyAttention>(...); }}))
//       if (!result.passed) std::cerr << result.text() << '\n';
//
// It is installed, so that users test an attention of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "longspan/nn/attention.h"

namespace longspan::testing {

/// An attention under test.
struct Subject {
  std::string name;                        ///< stands in messages
  std::function<nn::AttentionPtr()> make;  ///< a fresh module; called after torch's generator has been seeded
  at::ScalarType dtype = at::kDouble;      ///< float, double or bfloat16 (with one bound for all roundings)
};

struct PropertyOptions {
  int64_t batch = 3;
  int64_t length = 37;         ///< tokens of the longest sequence
  int64_t source_length = 29;  ///< of a cross source
  uint64_t seed = 1;
};

/// Outcome of one property on one subject.
struct PropertyResult {
  std::string subject, property;
  bool applicable = true;  ///< false: the pattern has no such property (splitting a noncausal attention)
  bool passed = true;
  std::string detail;  ///< what was compared, the worst place, both values, the bound

  std::string text() const;
};

/// "prefix", "split", "padding", "isolation", "layout", "state", "threads", in that order:
///
/// - prefix: causal outputs and their input gradients before t do not change by one bit when tokens from t on change
///   (to NaN too, where `bitwise`), and the first t outputs of a longer input equal those of the short one;
///   causal_cross: a query's output depends on no other query.
/// - split: any cutting of a stream into extend() calls, parallel then token by token and the reverse, equals
///   forward(); gradients through the cuts too.
/// - padding: left, right and inner padding that holds NaN and infinity changes no valid output and no gradient;
///   invalid outputs and gradients are 0; a row of padding alone and N = 0 give zeros. Without `packs_padding` valid
///   outputs need not be those of the text alone.
/// - isolation: a sequence alone, in a batch and in a pack gives the same outputs and gradients, whatever its mates
///   hold.
/// - layout: strided and transposed inputs and incoming gradients give the same results.
/// - state: a copy is untouched by what the original reads; rows can be reordered, repeated and stacked.
/// - threads: 1 and 2 threads agree, and a rerun is bit-identical.
///
/// Where AttentionProperties::bitwise holds, attend() is compared bit for bit over threads, batch-mates and total
/// length; the rest holds within equality_bound().
std::vector<std::string> property_names();

/// Throws InputError for an unknown name.
PropertyResult check_property(const std::string& property, const Subject& subject, const PropertyOptions& options = {});

/// All of them.
std::vector<PropertyResult> check_properties(const Subject& subject, const PropertyOptions& options = {});

}  // namespace longspan::testing
