// longspan inspect: what there is, and what goes on in a model.
#include "inspect/inspect.h"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "longspan/base/check.h"

namespace longspan::tool {

Action set_up_inspect(CLI::App& app, const CommonOptions& common) {
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> subjects;
  const auto add = [&](const char* name, const char* summary, Action (*set_up)(CLI::App&, const CommonOptions&)) {
    CLI::App* subject = app.add_subcommand(name, summary)->fallthrough();  // common flags are the parent's
    subjects.emplace_back(subject, set_up(*subject, common));
  };
  add("attentions", "the registry: patterns, backends, options with defaults and ranges", set_up_inspect_attentions);
  add("lavo", "what the memory of a trained model does with a text", set_up_inspect_lavo);
  add("pattern", "a sparse pattern: pairs, degrees, components, pieces, and a picture", set_up_inspect_pattern);
  return [subjects] {
    for (const auto& [subject, action] : subjects)
      if (*subject) return action();
    throw InternalError("inspect without a subject");
  };
}

}  // namespace longspan::tool
