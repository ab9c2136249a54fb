#include "longspan/base/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

namespace longspan {

namespace {

/// The shortest text that reads back as `value`, and never that of an integer: 1.0 is not 1 where an integer is asked
/// for.
std::string real_text(double value) {
  char text[32];
  std::string out(text, std::to_chars(text, text + sizeof text, value).ptr);
  if (out.find_first_not_of("-0123456789") == std::string::npos) out += ".0";
  return out;
}

/// An inclusive bound of an integer field as an integer; one that is not finite is no bound.
int64_t integer_bound(double bound) {
  using Limits = std::numeric_limits<int64_t>;
  if (bound >= 0x1p63) return Limits::max();
  return bound <= -0x1p63 ? Limits::min() : static_cast<int64_t>(bound);
}

int64_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int64_t substitute = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string expectation(const FieldInfo& info) {
  using Kind = FieldInfo::Kind;
  if (info.kind == Kind::boolean) return "true or false";
  if (info.kind == Kind::text) return "text";
  if (info.kind == Kind::choice) {
    std::string out = "one of ";
    for (std::size_t i = 0; i < info.choices.size(); ++i) out += (i ? ", " : "") + info.choices[i];
    return out;
  }
  std::string out = info.kind == Kind::integer ? "an integer" : "a number";
  if (std::isfinite(info.minimum) && std::isfinite(info.maximum))
    return out + " from " + bound_text(info, info.minimum) + " to " + bound_text(info, info.maximum);
  if (std::isfinite(info.minimum)) return out + " of at least " + bound_text(info, info.minimum);
  if (std::isfinite(info.maximum)) return out + " of at most " + bound_text(info, info.maximum);
  return out;
}

/// Text as the command line gives it, read as `kind` asks; std::monostate when it does not parse.
FieldValue from_text(FieldInfo::Kind kind, const std::string& text) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (kind == FieldInfo::Kind::integer) {
    int64_t value = 0;
    const auto result = std::from_chars(begin, end, value);
    if (result.ec == std::errc() && result.ptr == end) return value;
  } else if (kind == FieldInfo::Kind::real) {
    double value = 0;
    const auto result = std::from_chars(begin, end, value);
    if (result.ec == std::errc() && result.ptr == end) return value;
  } else if (kind == FieldInfo::Kind::boolean) {
    if (text == "true" || text == "on" || text == "1") return true;
    if (text == "false" || text == "off" || text == "0") return false;
  }
  return {};
}

}  // namespace

std::string to_string(const FieldValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return real_text(v); }
    std::string operator()(const std::string& v) const { return v; }
  };
  return std::visit(Visitor{}, value);
}

std::string bound_text(const FieldInfo& info, double bound) {
  if (info.kind == FieldInfo::Kind::integer) return std::to_string(integer_bound(bound));
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, bound).ptr};
}

std::string nearest_name(std::string_view wrong, const std::vector<std::string>& names) {
  std::string best;
  int64_t best_distance = 1 + static_cast<int64_t>(wrong.size()) / 3;  // farther than this helps nobody
  for (const auto& name : names) {
    const int64_t distance = edit_distance(wrong, name);
    if (distance >= static_cast<int64_t>(std::max(wrong.size(), name.size()))) continue;  // no letter in common
    if (distance <= best_distance && (best.empty() || distance < best_distance)) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

namespace internal {

FieldValue checked(std::string_view owner, const FieldInfo& info, const FieldValue& given) {
  using Kind = FieldInfo::Kind;
  FieldValue value = given;
  const auto fail = [&] [[noreturn]] () {
    throw InputError(str_cat(owner, ": ", info.name, " must be ", expectation(info), ", got ", to_string(given)));
  };
  const bool wants_text = info.kind == Kind::text || info.kind == Kind::choice;
  if (const auto* text = std::get_if<std::string>(&given); text && !wants_text) value = from_text(info.kind, *text);
  if (const auto* integer = std::get_if<int64_t>(&value); integer && info.kind == Kind::real)
    value = static_cast<double>(*integer);

  switch (info.kind) {
    case Kind::boolean:
      if (!std::holds_alternative<bool>(value)) fail();
      return value;
    case Kind::text:
      if (!std::holds_alternative<std::string>(value)) fail();
      return value;
    case Kind::choice: {
      const auto* text = std::get_if<std::string>(&value);
      if (!text || std::find(info.choices.begin(), info.choices.end(), *text) == info.choices.end()) fail();
      return value;
    }
    case Kind::integer: {  // compared as integers: a double has no 2^53 + 1
      const auto* number = std::get_if<int64_t>(&value);
      if (!number || *number < integer_bound(info.minimum) || *number > integer_bound(info.maximum)) fail();
      return value;
    }
    case Kind::real: {
      const auto* number = std::get_if<double>(&value);
      if (!number || !std::isfinite(*number) || *number < info.minimum || *number > info.maximum) fail();
      return value;
    }
  }
  fail();
}

void unknown_field(std::string_view owner, std::string_view name, const std::vector<std::string>& names) {
  const std::string near = nearest_name(name, names);
  std::string message = str_cat(owner, ": unknown field '", name, "'");
  if (!near.empty()) {
    message += str_cat("; did you mean '", near, "'?");
  } else {
    message += "; known fields:";
    for (const auto& known : names) message += " " + known;
  }
  throw InputError(message);
}

}  // namespace internal
}  // namespace longspan
