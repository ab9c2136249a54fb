// The registry: the single list of attentions. Command line, configuration, benchmarks, property tests and the
// documentation's tables all read it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/nn/attention.h"

namespace longspan::nn {

/// One registered attention.
struct AttentionEntry {
  std::string name;     ///< "lavo", "local", "softmax", ...
  std::string summary;  ///< one line for a person
  std::vector<Pattern> patterns;
  bool streaming = true;              ///< begin/extend for causal_self
  std::vector<std::string> backends;  ///< "kernel", "composed", "reference", "torch": in order of preference
  std::vector<FieldInfo> fields;
  /// Fields that a pattern has no use for: setting one is an error, saved configurations hold null there.
  std::function<std::vector<std::string>(Pattern)> unused_fields;
  /// Builds a module; throws InputError for unknown or bad options.
  std::function<AttentionPtr(Pattern, const AttentionSizes&, const FieldValues&)> make;
  /// Parameters and buffers whose size follows from the options and not from the width of the model alone, by name, as
  /// tensors on `meta`: what a file of weights must hold before a module is made that would fill memory with them.
  /// Without an `out.weight` among them it is [E, E], and no parameter is larger than that.
  std::function<std::map<std::string, at::Tensor>(const AttentionSizes&, const FieldValues&)> tables;
  /// Option sets that the property harness runs, for heads of width 8 and more; unused fields are dropped from them.
  std::function<std::vector<FieldValues>(Pattern)> harness_configurations;
};

/// All attentions, in the order of the documentation's tables. The table itself stands in registry.cc.
const std::vector<AttentionEntry>& attentions();

/// Throws InputError with the nearest name and the list of known ones.
const AttentionEntry& find_attention(const std::string& name);

/// The harness's option sets as they apply to `pattern`: without its unused fields, duplicates dropped; none for a
/// pattern that the method lacks.
std::vector<FieldValues> harness_configurations(const AttentionEntry& entry, Pattern pattern);

/// Builds `name`; a pattern that the method lacks is an InputError that names the method, the request and the methods
/// that have it.
AttentionPtr make_attention(const std::string& name, Pattern pattern, const AttentionSizes& sizes,
                            const FieldValues& options = {});

}  // namespace longspan::nn
