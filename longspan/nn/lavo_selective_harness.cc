#include <map>

#include "longspan/nn/lavo_selective_options.h"
#include "longspan/nn/option_cover.h"

namespace longspan::nn {
namespace {

std::vector<FieldValues> selective_cover(Pattern pattern) {
  std::vector<OptionFactor> factors = {{"r", {int64_t{4}, int64_t{8}, int64_t{12}}},
                                       {"w", {int64_t{3}, int64_t{1}, FieldValue()}},
                                       {"conv_width", {FieldValue(), int64_t{1}, int64_t{7}}},
                                       {"basis_gain", {FieldValue(), 3.0}},
                                       {"gain_init", {FieldValue(), 1.0}},
                                       {"dropout", {FieldValue(), 0.2}}};
  for (const char* name : {"conv", "tied_init", "epe"}) factors.push_back({name, {FieldValue(), false}});
  for (const char* name : {"delta", "share_qk"}) factors.push_back({name, {FieldValue(), true}});
  return option_cover(lavo_selective_fields().infos(), factors, lavo_selective_unused(pattern), lavo_selective_idle(),
                      [](const OptionLookup& value) {
                        // Heads of width 8 have room for 8 orthonormal addresses.
                        const auto slots = value("r"), addresses = value("addresses");
                        return !slots || !addresses || *slots != FieldValue(int64_t{12}) ||
                               *addresses != FieldValue(std::string("orthonormal"));
                      });
}

}  // namespace

const std::vector<FieldValues>& lavo_selective_harness(Pattern pattern) {
  static const std::map<Pattern, std::vector<FieldValues>> covers = [] {
    std::map<Pattern, std::vector<FieldValues>> out;
    for (const Pattern p : {Pattern::causal_self, Pattern::causal_cross, Pattern::noncausal_cross})
      out[p] = selective_cover(p);
    return out;
  }();
  return covers.at(pattern);
}

}  // namespace longspan::nn
