// Option sets of an attention in which every two settings meet, for the property harness.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "longspan/nn/usable_options.h"

namespace longspan::nn {

/// An option and its settings; null leaves it at its default.
struct OptionFactor {
  std::string name;
  std::vector<FieldValue> values;
};

/// pairwise() over `factors` and every choice among `fields`, the default first, without `unused` ones. An option that
/// `idle` makes idle stays at its default; `allowed` judges what rules of another kind exclude, of settings some of
/// which may be open. The first set has the first setting of every factor.
std::vector<FieldValues> option_cover(const std::vector<FieldInfo>& fields, std::vector<OptionFactor> factors,
                                      const std::vector<std::string>& unused, const std::vector<IdleRule>& idle,
                                      const std::function<bool(const OptionLookup&)>& allowed);

}  // namespace longspan::nn
