// The option-field table: one description of an options struct that the command line, the JSON configuration,
// Python, benchmarks and the documentation all read. Defaults are written once, in the struct itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "longspan/base/check.h"

namespace longspan {

/// A value as it stands in a configuration. std::monostate is JSON's null: "not set".
using FieldValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

/// Values by field name, in a saved configuration or from `--set name=value`.
using FieldValues = std::map<std::string, FieldValue>;

/// Text of a value as a person writes it: `64`, `0.1`, `1.0` (a number that is no integer), `true`, `token`, `null`.
std::string to_string(const FieldValue& value);

/// The entry of `names` nearest to `wrong` by edit distance, or "" when none is near.
std::string nearest_name(std::string_view wrong, const std::vector<std::string>& names);

/// What a field is, apart from the struct it lives in.
struct FieldInfo {
  enum class Kind { boolean, integer, real, text, choice };
  std::string name;
  Kind kind = Kind::integer;
  FieldValue default_value;
  std::string help;
  double minimum = -std::numeric_limits<double>::infinity();  ///< inclusive, for integer and real
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  ///< for Kind::choice
};

/// Text of a bound of a numeric field, integers in full: `1000000000000`, `0.99`.
std::string bound_text(const FieldInfo& info, double bound);

/// Range of a numeric field, inclusive; real numbers must be finite besides.
struct FieldRange {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
};

namespace internal {
/// Converts `value` to what `info` asks for (text to number where the command line gave text) and checks its range.
/// Throws InputError "<owner>: <field> must be ..., got ...".
FieldValue checked(std::string_view owner, const FieldInfo& info, const FieldValue& value);
[[noreturn]] void unknown_field(std::string_view owner, std::string_view name, const std::vector<std::string>& names);
}  // namespace internal

/// Fields of one options struct. Build it once in a function-local static:
///
///     const FieldTable<LavoOptions>& lavo_fields() {
///       static const auto table = FieldTable<LavoOptions>("lavo")
///           .integer("r", &LavoOptions::r, {1, 256}, "memory slots per head")
///           .choice("combine", &LavoOptions::combine, {{"mean", Combine::mean}, ...}, "...");
///       return table;
///     }
template <class Options>
class FieldTable {
 public:
  /// `owner` names the struct in messages.
  explicit FieldTable(std::string owner) : owner_(std::move(owner)) {}

  FieldTable& boolean(std::string name, bool Options::*member, std::string help) {
    return add(
        FieldInfo::Kind::boolean, std::move(name), std::move(help), {}, {},
        [member](const Options& o) { return FieldValue(o.*member); },
        [member](Options& o, const FieldValue& v) { o.*member = std::get<bool>(v); });
  }
  FieldTable& integer(std::string name, int64_t Options::*member, FieldRange range, std::string help) {
    return add(
        FieldInfo::Kind::integer, std::move(name), std::move(help), range, {},
        [member](const Options& o) { return FieldValue(o.*member); },
        [member](Options& o, const FieldValue& v) { o.*member = std::get<int64_t>(v); });
  }
  FieldTable& real(std::string name, double Options::*member, FieldRange range, std::string help) {
    return add(
        FieldInfo::Kind::real, std::move(name), std::move(help), range, {},
        [member](const Options& o) { return FieldValue(o.*member); },
        [member](Options& o, const FieldValue& v) { o.*member = std::get<double>(v); });
  }
  FieldTable& text(std::string name, std::string Options::*member, std::string help) {
    return add(
        FieldInfo::Kind::text, std::move(name), std::move(help), {}, {},
        [member](const Options& o) { return FieldValue(o.*member); },
        [member](Options& o, const FieldValue& v) { o.*member = std::get<std::string>(v); });
  }
  template <class Enum>
  FieldTable& choice(std::string name, Enum Options::*member, std::vector<std::pair<std::string, Enum>> values,
                     std::string help) {
    std::vector<std::string> names;
    for (const auto& [text, value] : values) names.push_back(text);
    return add(
        FieldInfo::Kind::choice, std::move(name), std::move(help), {}, std::move(names),
        [member, values](const Options& o) -> FieldValue {
          for (const auto& [text, value] : values)
            if (value == o.*member) return text;
          return static_cast<int64_t>(o.*member);  // no name: checked() refuses a number
        },
        [member, values](Options& o, const FieldValue& v) {
          for (const auto& [text, value] : values)
            if (text == std::get<std::string>(v)) o.*member = value;
        });
  }

  /// The fields of a part of the options, by the names that `table` gives them; those of `except` are left out.
  template <class Part>
  FieldTable& part(Part Options::*member, const FieldTable<Part>& table, const std::vector<std::string>& except = {}) {
    for (std::size_t i = 0; i < table.infos_.size(); ++i) {
      const FieldInfo& info = table.infos_[i];
      if (std::find(except.begin(), except.end(), info.name) != except.end()) continue;
      add(
          info.kind, info.name, info.help, {info.minimum, info.maximum}, info.choices,
          [member, get = table.get_[i]](const Options& o) { return get(o.*member); },
          [member, set = table.set_[i]](Options& o, const FieldValue& v) { set(o.*member, v); });
    }
    return *this;
  }

  const std::string& owner() const { return owner_; }
  const std::vector<FieldInfo>& infos() const { return infos_; }

  /// Sets the named fields; null keeps the default. Throws InputError for an unknown name (with the nearest known
  /// one), a value of the wrong kind or out of range.
  void apply(Options& options, const FieldValues& values) const {
    for (const auto& [name, value] : values) {
      const std::size_t i = index(name);
      if (!std::holds_alternative<std::monostate>(value)) set_[i](options, internal::checked(owner_, infos_[i], value));
    }
  }
  /// The options with `values` applied to their defaults.
  Options parse(const FieldValues& values) const {
    Options options;
    apply(options, values);
    return options;
  }
  /// Every field with its value, complete. Throws InputError for a choice without a name; ranges are validate()'s.
  FieldValues values(const Options& options) const {
    FieldValues out;
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const FieldValue value = get_[i](options);
      out[infos_[i].name] =
          infos_[i].kind == FieldInfo::Kind::choice ? internal::checked(owner_, infos_[i], value) : value;
    }
    return out;
  }
  /// Checks every field of `options` (set from C++) against its range or choices. Throws InputError.
  void validate(const Options& options) const {
    for (std::size_t i = 0; i < infos_.size(); ++i) internal::checked(owner_, infos_[i], get_[i](options));
  }

 private:
  template <class>
  friend class FieldTable;
  using Get = std::function<FieldValue(const Options&)>;
  using Set = std::function<void(Options&, const FieldValue&)>;

  FieldTable& add(FieldInfo::Kind kind, std::string name, std::string help, FieldRange range,
                  std::vector<std::string> choices, Get get, Set set) {
    FieldInfo info;
    info.name = std::move(name);
    info.kind = kind;
    info.default_value = get(Options{});
    info.help = std::move(help);
    info.minimum = range.minimum;
    info.maximum = range.maximum;
    info.choices = std::move(choices);
    infos_.push_back(std::move(info));
    get_.push_back(std::move(get));
    set_.push_back(std::move(set));
    return *this;
  }
  std::size_t index(const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      if (infos_[i].name == name) return i;
      names.push_back(infos_[i].name);
    }
    internal::unknown_field(owner_, name, names);
  }

  std::string owner_;
  std::vector<FieldInfo> infos_;
  std::vector<Get> get_;
  std::vector<Set> set_;
};

}  // namespace longspan
