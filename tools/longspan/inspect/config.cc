// longspan inspect config: the fields of configurations, where they are written and what they may be.
#include "longspan/models/config.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "field_text.h"
#include "inspect.h"
#include "longspan/base/check.h"
#include "longspan/data/recall.h"
#include "longspan/models/encoder_heads.h"
#include "longspan/models/generate.h"
#include "longspan/nn/registry.h"
#include "longspan/patterns/options.h"
#include "longspan/report/format.h"
#include "longspan/tasks/options.h"
#include "longspan/train/options.h"
#include "tools/longspan/output.h"

namespace longspan::tool {

namespace {

/// Fields that stand together.
struct Group {
  std::string name;
  std::string where;  ///< they are given, for a person
  std::vector<FieldInfo> fields;
};

/// The groups of a configuration, and for `--help` of generate its flags.
std::vector<Group> groups() {
  return {
      {"model", "\"model\" in config.json and in a file for train --config; --set model.FIELD=VALUE",
       models::model_fields().infos()},
      {"train", "\"train\" in config.json and in a file for train --config; --set train.FIELD=VALUE",
       train::train_fields().infos()},
      {"encoder", "\"encoder\" in config.json and in a file for task train --config; --set encoder.FIELD=VALUE",
       models::encoder_fields().infos()},
      {"head", "\"head\" in config.json and in a file for task train --config; --set head.FIELD=VALUE",
       models::head_fields().infos()},
      {"task", "\"task\" in config.json and in a file for task train --config; --set task.FIELD=VALUE",
       tasks::task_fields().infos()},
      {"recall", "\"recall\" in config.json and in a file for recall train --config; --set recall.FIELD=VALUE",
       recall_fields().infos()},
      {"generate", "flags of generate, with - for _", models::generate_fields().infos()},
      {"pattern", "--set FIELD=VALUE of inspect pattern", patterns::pattern_fields().infos()},
  };
}

Group attention_group(const nn::AttentionEntry& entry) {
  return {entry.name,
          "\"attention_options\" in \"model\" or \"encoder\"; --set model.attention_options.FIELD=VALUE, "
          "encoder.attention_options.FIELD=VALUE",
          entry.fields};
}

Group find_group(const std::string& name) {
  std::vector<std::string> known;
  std::vector<Group> all = groups();
  for (const nn::AttentionEntry& entry : nn::attentions()) all.push_back(attention_group(entry));
  for (Group& group : all) {
    if (group.name == name) return std::move(group);
    known.push_back(group.name);
  }
  const std::string near = nearest_name(name, known);
  throw InputError(str_cat("inspect config: unknown group '", name, "'",
                           near.empty() ? "; known: " + report::join(known, " ") : "; did you mean '" + near + "'?"));
}

void print(const Group& group, bool json) {
  if (json) {
    print_json({{"group", group.name}, {"where", group.where}, {"fields", describe(group.fields)}});
    return;
  }
  std::string text =
      group.name + ": " + group.where + "\n" + report::indent(report::to_text(field_table(group.fields, "field")), 2);
  if (group.name == "model" || group.name == "encoder")
    text += "  attention_options: an object with the options of the attention, see longspan inspect config lavo\n";
  print_text(text + "\n");
}

}  // namespace

Action set_up_inspect_config(CLI::App& app, const CommonOptions& common) {
  auto names = std::make_shared<std::vector<std::string>>();
  app.add_option(
      "groups", *names,
      "model, train, encoder, head, task, generate, pattern, or the name of an attention for its options (default: all "
      "but the last)");
  return [names, &common] {
    std::vector<Group> chosen = names->empty() ? groups() : std::vector<Group>();
    for (const std::string& name : *names) chosen.push_back(find_group(name));
    for (const Group& group : chosen) print(group, common.json);
  };
}

}  // namespace longspan::tool
