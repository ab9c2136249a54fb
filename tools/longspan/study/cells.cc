#include "tools/longspan/study/cells.h"

#include <filesystem>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"

namespace longspan::tool {

namespace {

constexpr int64_t kVersion = 1;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

std::optional<Json> CellFolder::finished(const StudyCell& cell) const {
  const std::string file = path(cell.name);
  if (!exists(file)) return std::nullopt;
  const Json content = load_json(file);
  LONGSPAN_CHECK(content.is_object() && content.contains("config") && content.contains("result"), file,
                 ": expected a cell of a study");
  LONGSPAN_CHECK(content["config"] == cell.config, "--out: '", folder_, "' holds the cell '", cell.name,
                 "' of another configuration; give another folder, or --overwrite");
  return content["result"];
}

void CellFolder::describe(const std::vector<StudyCell>& cells, const Json& data) const {
  const std::string file = folder_ + "/" + kPlan;
  Json plan = exists(file) ? load_json(file) : Json::object();
  LONGSPAN_CHECK(plan.is_object(), file, ": expected an object");
  plan["format_version"] = kVersion;
  plan["study"] = kind_;
  if (!data.is_null()) plan["data"] = data;
  for (const StudyCell& cell : cells) plan["cells"][cell.name] = cell.config;
  make_writable_folder(folder_ + "/" + kCells);
  save_json(file, plan);
}

void CellFolder::save(const std::string& name, const Json& config, const Json& result) const {
  save_json(path(name), {{"config", config}, {"result", result}});
}

Json diverged_result(const std::string& what) { return {{"diverged", what}}; }

std::optional<std::string> divergence(const Json& result) {
  return result.contains("diverged") ? std::optional(result["diverged"].get<std::string>()) : std::nullopt;
}

PlannedCell planned_cell(const std::string& folder, const std::string& name) {
  const std::string file = folder + "/" + CellFolder::kPlan;
  LONGSPAN_CHECK(exists(file), "'", folder, "': expected the folder of a study, with ", CellFolder::kPlan);
  const Json plan = load_json(file);
  LONGSPAN_CHECK(plan.is_object() && plan.contains("study") && plan["study"].is_string() && plan.contains("cells") &&
                     plan["cells"].is_object(),
                 file, ": expected an object with \"study\" and \"cells\"");
  std::vector<std::string> names;
  for (const auto& [known, config] : plan["cells"].items()) names.push_back(known);
  const std::string near = nearest_name(name, names);
  LONGSPAN_CHECK(plan["cells"].contains(name), file, ": there is no cell '", name, "'",
                 near.empty() ? "" : "; did you mean '" + near + "'?");
  return {plan["study"].get<std::string>(), plan["cells"][name], plan.value("data", Json())};
}

}  // namespace longspan::tool
