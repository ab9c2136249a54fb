#include "tools/longspan/study/driver.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "longspan/base/check.h"

namespace longspan::tool {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> with_cells(std::vector<std::string> parts) {
  parts.insert(parts.end(), {CellFolder::kPlan, CellFolder::kCells});
  return parts;
}

}  // namespace

void StudyFlags::add(CLI::App& app, const std::string& seed_default, const std::string& variant,
                     const std::string& setting) {
  app.add_option("--out", out, "folder of the results (default: " + out + ")");
  app.add_flag("--overwrite", overwrite, "do finished cells of an earlier run in --out again");
  app.add_option("--variant", variants, variant + " (may be repeated)")->allow_extra_args(false);
  app.add_option("--seeds", seeds, "models for each memory (default: " + seed_default + ")")
      ->check(CLI::Range(1, 1000));
  app.add_option("--search", searches,
                 "FIELD=VALUE,VALUE,...: choose the best for each memory by validation, with the first seed; a "
                 "training field such as learning_rate, model.FIELD or option.FIELD (may be repeated: every "
                 "combination)")
      ->allow_extra_args(false);
  app.add_option("--set", settings, setting + " (may be repeated)")->allow_extra_args(false);
  app.add_option("--jobs", jobs, "cells at a time, in processes that share the threads (default: as many as threads)")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--markdown", markdown, "print the tables in Markdown, and nothing else");
  app.footer(
      "The same command goes on where one that was stopped or killed left off: a finished cell is a file in cells/.");
}

std::vector<SearchPoint> StudyFlags::points() const {
  std::vector<StudySearch> parsed;
  for (const std::string& text : searches) parsed.push_back(parse_search(text));
  return search_points(parsed);
}

CellOutput StudyFlags::output(const CommonOptions& common) const {
  return markdown ? CellOutput::none : common.json ? CellOutput::json : CellOutput::table;
}

StudyFolder::StudyFolder(const StudyFlags& flags, const std::string& study, std::vector<std::string> results,
                         const std::vector<std::string>& parts)
    : place_(flags.out),
      results_(std::move(results)),
      folder_(flags.out, ResultKind{"study " + study, {}, with_cells(parts)}, true) {
  folder_.keep();
  std::error_code ignored;
  if (flags.overwrite)
    for (const std::string& part : with_cells(parts)) std::filesystem::remove_all(flags.out + "/" + part, ignored);
}

void StudyFolder::begin(const StudyPlan& plan, const CellFolder& cells) const {
  for (const StudyVariant& variant : plan.variants)
    for (const SearchPoint& point : plan.points)
      for (int64_t seed = 0; seed < plan.seeds; ++seed) cells.finished(plan.cell(variant, point, seed));
  std::error_code ignored;
  for (const std::string& name : results_) std::filesystem::remove(place_ + "/" + name, ignored);
}

std::string cell_name(const StudyVariant& variant, const SearchPoint& point, int64_t seed) {
  std::string name = str_cat(variant.name, point.label.empty() ? "" : "." + point.label, ".seed", seed);
  std::replace(name.begin(), name.end(), ' ', '.');
  return name;
}

std::string cell_label(const StudyVariant& variant, const SearchPoint& point, int64_t seed) {
  return str_cat(variant.name, point.label.empty() ? "" : " " + point.label, " seed ", seed);
}

void StudyOutcome::OfVariant::describe(StudyModels& models) const {
  models.search = search;
  models.chosen = chosen.label;
  read_sizes(models, results.front());
}

StudyOutcome run_study(const StudyPlan& plan, const CellFolder& folder, const CellRun& run, CellRows rows,
                       const std::function<std::vector<std::string>(const Json& result)>& row) {
  StudyOutcome outcome;
  outcome.variants.resize(plan.variants.size());
  const std::size_t points = plan.points.size();
  for (auto& of : outcome.variants) of.chosen = plan.points.front();
  if (points > 1) {
    std::vector<StudyCell> cells;
    for (const StudyVariant& variant : plan.variants)
      for (const SearchPoint& point : plan.points) cells.push_back(plan.cell(variant, point, 0));
    CellRun search = run;
    search.title += ", search";
    const auto results = run_cells(folder, cells, search, [](const StudyCell&, const Json&) {});
    for (std::size_t i = 0; i < plan.variants.size(); ++i) {
      auto& of = outcome.variants[i];
      for (std::size_t j = 0; j < points; ++j) {
        const Json& result = results[i * points + j];
        of.search.push_back({plan.points[j].label, divergence(result) ? kInfinity : plan.loss(result)});
      }
      const auto best = std::min_element(of.search.begin(), of.search.end(),
                                         [](const SearchResult& a, const SearchResult& b) { return a.loss < b.loss; });
      of.chosen = plan.points[static_cast<std::size_t>(best - of.search.begin())];
    }
  }
  std::vector<StudyCell> cells;
  for (std::size_t i = 0; i < plan.variants.size(); ++i)
    for (int64_t seed = 0; seed < plan.seeds; ++seed)
      cells.push_back(plan.cell(plan.variants[i], outcome.variants[i].chosen, seed));
  std::vector<std::string> labels;
  for (const StudyCell& cell : cells) labels.push_back(cell.label);
  rows.expect(labels);
  auto results = run_cells(folder, cells, run, [&](const StudyCell& cell, const Json& result) {
    if (const auto what = divergence(result)) throw RunError(str_cat("the cell '", cell.name, "': ", *what));
    rows.add(cell, result, row(result));
  });
  for (std::size_t i = 0; i < results.size(); ++i)
    outcome.variants[i / static_cast<std::size_t>(plan.seeds)].results.push_back(std::move(results[i]));
  return outcome;
}

StudyConditions conditions_of(const CommonOptions& common, Json recipe) {
  StudyConditions out;
  out.recipe = std::move(recipe);
  out.environment = this_environment(at::get_num_threads(), TORCH_VERSION);
  std::vector<std::string> words = common.command;
  words.front() = "longspan";
  out.command_line = shell_line(words);
  return out;
}

CellRun cell_run(const CommonOptions& common, const std::string& title, int64_t jobs) {
  const int64_t threads = at::get_num_threads();
  CellRun run;
  run.title = title;
  run.jobs = jobs > 0 ? jobs : threads;
  run.threads = std::max<int64_t>(threads / run.jobs, 1);
  run.quiet = common.quiet;
  return run;
}

}  // namespace longspan::tool
