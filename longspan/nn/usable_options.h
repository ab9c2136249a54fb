// Options without a use: those that a pattern cannot use are an error when set and null in a saved configuration; those
// that another option makes idle are an error when they are not at their default.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/nn/attention.h"

namespace longspan::nn {

/// Throws InputError when one of `unused` is set in `given` (null counts as not set).
void refuse_unused(const std::string& method, Pattern pattern, const std::vector<std::string>& unused,
                   const FieldValues& given);

/// `values` with null for `unused`.
FieldValues with_nulls(FieldValues values, const std::vector<std::string>& unused);

/// `values` without `unused`.
FieldValues without(FieldValues values, const std::vector<std::string>& unused);

/// Options that have no use where every setting of `when` holds and none of `unless`.
struct IdleRule {
  using Setting = std::pair<std::string, FieldValue>;
  std::vector<Setting> when = {}, unless = {};
  std::vector<std::string> idle = {};
};

/// The value of an option, nothing while it is open.
using OptionLookup = std::function<std::optional<FieldValue>(const std::string&)>;

/// Whether the rule makes its options idle, whatever the open ones become.
bool applies(const IdleRule& rule, const OptionLookup& value);

/// The options that `values`, all of them, make idle.
std::vector<std::string> idle_options(const std::vector<IdleRule>& rules, const FieldValues& values);

/// Throws InputError, "lavo: epe_init has no use with epe = false, got zero", when an idle option is not at its
/// default. `values`: all of them.
void refuse_idle(const std::string& method, const std::vector<IdleRule>& rules, const std::vector<FieldInfo>& fields,
                 const FieldValues& values);

}  // namespace longspan::nn
