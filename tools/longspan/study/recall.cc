// longspan study recall: memories compared by what they can give back, at stated states and seeds.
#include "tools/longspan/recall/recall.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/report/format.h"
#include "tools/longspan/output.h"
#include "tools/longspan/recall/config.h"
#include "tools/longspan/result_files.h"
#include "tools/longspan/settings.h"
#include "tools/longspan/study/driver.h"
#include "tools/longspan/study/recall_page.h"
#include "tools/longspan/study/recall_presets.h"
#include "tools/longspan/study/study.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {

namespace {

struct StudyRecallFlags {
  StudyFlags study{"study-recall"};
  std::string preset, at;
  RecallGridFlags grid;
  bool keep_models = false, pairs_given = false, lengths_given = false, questions_given = false;
};

class RecallStudyRun {
 public:
  RecallStudyRun(const StudyRecallFlags& options, const CommonOptions& common) : options_(options), common_(common) {
    choose();
    for (const StudyVariant& variant : variants_)
      for (const SearchPoint& point : points_) config_of(variant, point, 0);  // what is wrong is told before the first
  }

  void run() {
    const double start = now();
    const StudyFolder folder(options_.study, "recall", {kResults, kCsv, kPage}, {CellFolder::kModels});
    const StudyPlan plan{
        variants_, points_, seeds_,
        [&](const StudyVariant& variant, const SearchPoint& point, int64_t seed) { return cell(variant, point, seed); },
        [](const Json& result) { return recall_run(0, result).validation_loss; }};
    const CellFolder cells(out(), "recall");
    folder.begin(plan, cells);
    const StudyOutcome outcome = run_study(plan, cells, cell_run(common_, "study recall", options_.study.jobs), rows(),
                                           [&](const Json& result) { return row_of(result); });
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      RecallVariant& variant = study_.variants[i];
      const StudyOutcome::OfVariant& of = outcome.variants[i];
      of.describe(variant);
      variant.heads = of.results.front().at("heads").get<int64_t>();
      for (std::size_t seed = 0; seed < of.results.size(); ++seed)
        variant.runs.push_back(recall_run(first_seed() + static_cast<int64_t>(seed), of.results[seed]));
    }
    study_.conditions.seconds = now() - start;
    write();
  }

 private:
  const std::string& out() const { return options_.study.out; }
  int64_t first_seed() const { return static_cast<int64_t>(common_.seed.value_or(0)); }

  void choose() {
    RecallPreset preset;
    if (!options_.preset.empty() || options_.study.variants.empty())
      preset = recall_preset(options_.preset.empty() ? "quick" : options_.preset);
    variants_ = preset.variants;
    study_.panels = preset.panels;
    study_.title = preset.title.empty() ? "longspan study: recall" : preset.title;
    StudyPanel own{"Compared", "", {}};
    for (const std::string& text : options_.study.variants) {
      variants_.push_back(parse_variant(text));
      own.names.push_back(variants_.back().name);
    }
    if (!own.names.empty()) study_.panels.push_back(own);
    check_names(variants_);
    points_ = options_.study.points();
    seeds_ = options_.study.seeds > 0 ? options_.study.seeds : preset.seeds;

    grid_flags_ = options_.grid;
    if (!options_.pairs_given && !preset.pairs.empty()) grid_flags_.pairs = preset.pairs;
    if (!options_.lengths_given && !preset.lengths.empty()) grid_flags_.lengths = preset.lengths;
    if (!options_.questions_given && !preset.name.empty()) grid_flags_.evaluation.questions = preset.questions;
    settings_ = preset.settings;
    settings_.insert(settings_.end(), options_.study.settings.begin(), options_.study.settings.end());

    RecallSources sources;
    sources.settings = settings_;
    const RecallConfig common_config = read_recall_config(sources);
    RecallGrid grid = read_grid(grid_flags_, common_config.recall);
    std::sort(grid.pairs.begin(), grid.pairs.end());
    std::sort(grid.lengths.begin(), grid.lengths.end());
    study_.pairs = grid.pairs;
    study_.lengths = grid.lengths;
    study_.copy = common_config.recall.task == RecallTask::copy;
    study_.chance = 1.0 / static_cast<double>(common_config.recall.values);
    study_.train_length = common_config.train.length;
    Json recipe = to_json(common_config);
    for (const char* own : {"attention", "attention_options"}) recipe["model"].erase(own);
    recipe["measure"] = measure();
    study_.conditions = conditions_of(common_, std::move(recipe));
    choose_frontier();
    for (const StudyVariant& variant : variants_) study_.variants.push_back({{variant}});
  }

  /// K = 16 or the middle one, at the longest n, unless --at says.
  void choose_frontier() {
    const auto& pairs = study_.pairs;
    const bool has16 = std::find(pairs.begin(), pairs.end(), 16) != pairs.end();
    study_.at_pairs = has16 ? 16 : pairs[pairs.size() / 2];
    study_.at_length = study_.lengths.back();
    if (options_.at.empty()) return;
    const std::vector<int64_t> at = parse_lengths("--at", options_.at);
    LONGSPAN_CHECK(at.size() == 2, "--at: expected K,n, got '", options_.at, "'");
    LONGSPAN_CHECK(std::find(pairs.begin(), pairs.end(), at[0]) != pairs.end(), "--at: expected a K of --pairs, got ",
                   at[0]);
    LONGSPAN_CHECK(std::find(study_.lengths.begin(), study_.lengths.end(), at[1]) != study_.lengths.end(),
                   "--at: expected an n of --lengths, got ", at[1]);
    study_.at_pairs = at[0];
    study_.at_length = at[1];
  }

  Json measure() const {
    return {{"pairs", study_.pairs},
            {"lengths", study_.lengths},
            {"questions", grid_flags_.evaluation.questions},
            {"span", grid_flags_.evaluation.span},
            {"seed", first_seed()}};
  }

  RecallConfig config_of(const StudyVariant& variant, const SearchPoint& point, int64_t seed) const {
    RecallSources sources;
    sources.attention = variant.attention;
    for (const auto* settings : {&settings_, &variant.settings, &point.settings})
      sources.settings.insert(sources.settings.end(), settings->begin(), settings->end());
    RecallConfig config = read_recall_config(sources);
    config.train.seed = first_seed() + seed;
    return config;
  }

  StudyCell cell(const StudyVariant& variant, const SearchPoint& point, int64_t seed) const {
    const RecallConfig config = config_of(variant, point, seed);
    StudyCell out;
    out.name = cell_name(variant, point, config.train.seed);
    out.label = cell_label(variant, point, config.train.seed);
    out.config = to_json(config);
    out.config["measure"] = measure();
    if (options_.keep_models) out.config["keep_model"] = true;
    out.steps = config.train.steps;
    return out;
  }

  CellRows rows() const {
    std::vector<report::Column> columns = {{"cell"}, {"training", true}};
    for (const int64_t length : study_.lengths)
      columns.push_back({str_cat("K ", study_.at_pairs, ", ", report::length_label(length)), true});
    return {options_.study.output(common_), columns};
  }

  /// The cells of a row behind its label.
  std::vector<std::string> row_of(const Json& result) const {
    const RecallRun run = recall_run(0, result);
    std::vector<std::string> row = {report::duration(run.train_seconds)};
    for (const int64_t length : study_.lengths)
      for (const RecallScore& score : run.scores)
        if (score.pairs == study_.at_pairs && score.length == length) row.push_back(report::fixed(score.accuracy, 3));
    return row;
  }

  void write() const {
    save_json(out() + "/" + kResults, to_json(study_));
    write_file(out() + "/" + kCsv, to_csv(study_));
    recall_page(study_).save(out() + "/" + kPage);
    if (options_.study.markdown) return print_text(to_markdown(study_));
    if (common_.json) return print_json(to_json(study_));
    print_text(str_cat("\nAccuracy at ", study_.copy ? "D = " : "n = ", report::length_label(study_.lengths.back()),
                       ":\n", report::indent(report::to_text(by_pairs_table(study_)), 2),
                       study_.lengths.size() > 1 ? str_cat("\nBy length, K = ", study_.at_pairs, ":\n",
                                                           report::indent(report::to_text(by_length_table(study_)), 2))
                                                 : "",
                       "\n", recall_sentence(study_), "\n", out(), "/", kPage, "\n"));
  }

  const StudyRecallFlags& options_;
  const CommonOptions& common_;
  std::vector<StudyVariant> variants_;
  std::vector<SearchPoint> points_;
  std::vector<std::string> settings_;
  RecallGridFlags grid_flags_;
  int64_t seeds_ = 1;
  RecallStudy study_;
};

}  // namespace

Action set_up_study_recall(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<StudyRecallFlags>();
  options->study.add(
      app, "1, question and bar 5",
      "NAME=attention,option=value,...: a memory to compare, beside those of --preset; model.FIELD=value "
      "and train.FIELD=value too",
      "path.to.field=value for all, such as train.steps=800, model.width=64 or recall.pairs=16");
  app.add_option(
         "--preset", options->preset,
         "quick: four memories in some minutes; question: what is kept, how it is addressed and written, at "
         "which state (26 memories, five seeds, hours); bar: the selective memory with five seeds (default: quick, "
         "unless --variant)")
      ->check(CLI::IsMember(recall_preset_names()));
  options->grid.add(app);
  app.add_option("--at", options->at, "K,n of the chart by state (default: 16, or the middle K; the longest n)");
  app.add_flag("--keep-models", options->keep_models, "keep every model, in models/ of --out");
  const CLI::App* parsed = &app;
  return [options, &common, parsed] {
    options->pairs_given = parsed->count("--pairs") > 0;
    options->lengths_given = parsed->count("--lengths") > 0;
    options->questions_given = parsed->count("--questions") > 0;
    LONGSPAN_CHECK(!options->study.markdown || !common.json, "--markdown: not together with --json");
    RecallStudyRun(*options, common).run();
  };
}

}  // namespace longspan::tool
