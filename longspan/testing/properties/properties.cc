#include "longspan/testing/properties/properties.h"

#include "longspan/base/check.h"
#include "longspan/testing/properties/probe.h"

namespace longspan::testing {
namespace {

struct Property {
  const char* name;
  void (*check)(Probe&, Verdict&);
};

constexpr Property kProperties[] = {
    {"prefix", check_prefix}, {"split", check_split}, {"padding", check_padding}, {"isolation", check_isolation},
    {"layout", check_layout}, {"state", check_state}, {"threads", check_threads},
};

}  // namespace

std::string PropertyResult::text() const {
  return str_cat(subject, ": ", property, !applicable ? " does not apply" : passed ? " holds" : " FAILS: ", detail);
}

std::vector<std::string> property_names() {
  std::vector<std::string> names;
  for (const auto& property : kProperties) names.emplace_back(property.name);
  return names;
}

PropertyResult check_property(const std::string& name, const Subject& subject, const PropertyOptions& options) {
  for (const auto& property : kProperties) {
    if (name != property.name) continue;
    Verdict verdict(subject.name, name);
    try {
      verdict.magnify(magnification(subject, options));
      Probe probe(subject, options);
      property.check(probe, verdict);
    } catch (const std::exception& error) {
      const std::string text = error.what();
      verdict.fail("throws: " + text.substr(0, text.find('\n')));
    }
    return verdict.result();
  }
  std::string known;
  for (const auto& each : property_names()) known += " " + each;
  throw InputError(str_cat("check_property: unknown property '", name, "'; known:", known));
}

std::vector<PropertyResult> check_properties(const Subject& subject, const PropertyOptions& options) {
  std::vector<PropertyResult> results;
  for (const auto& name : property_names()) results.push_back(check_property(name, subject, options));
  return results;
}

}  // namespace longspan::testing
