// longspan inspect attentions: the registry.
#include "field_text.h"
#include "inspect.h"
#include "longspan/nn/registry.h"
#include "longspan/report/format.h"
#include "tools/longspan/output.h"

namespace longspan::tool {

namespace {

std::vector<std::string> pattern_names(const nn::AttentionEntry& entry) {
  std::vector<std::string> names;
  for (const nn::Pattern pattern : entry.patterns) names.push_back(nn::to_string(pattern));
  return names;
}

void inspect_attentions(bool json) {
  for (const nn::AttentionEntry& entry : nn::attentions()) {
    if (json) {
      Json object;
      object["name"] = entry.name;
      object["summary"] = entry.summary;
      object["patterns"] = pattern_names(entry);
      object["streaming"] = entry.streaming;
      object["backends"] = entry.backends;
      object["options"] = describe(entry.fields);
      print_json(object);
      continue;
    }
    std::string text = entry.name + ": " + entry.summary + "\n  patterns: " + report::join(pattern_names(entry), ", ") +
                       "\n  streaming: " + (entry.streaming ? "yes" : "no") +
                       "\n  backends: " + report::join(entry.backends, ", ") + "\n";
    if (!entry.fields.empty()) text += report::indent(report::to_text(field_table(entry.fields, "option")), 2);
    print_text(text + "\n");
  }
}

}  // namespace

Action set_up_inspect_attentions(CLI::App&, const CommonOptions& common) {
  return [&common] { inspect_attentions(common.json); };
}

}  // namespace longspan::tool
