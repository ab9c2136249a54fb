// longspan study text: memories trained separately on the same text at equal parameters, measured on whole documents.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "longspan/base/check.h"
#include "longspan/data/text_inputs.h"
#include "longspan/data/write_dataset.h"
#include "longspan/io/atomic_file.h"
#include "longspan/report/format.h"
#include "longspan/train/evaluate.h"
#include "tools/longspan/matched_parameters.h"
#include "tools/longspan/output.h"
#include "tools/longspan/prepare_progress.h"
#include "tools/longspan/result_files.h"
#include "tools/longspan/run_config.h"
#include "tools/longspan/settings.h"
#include "tools/longspan/study/driver.h"
#include "tools/longspan/study/study.h"
#include "tools/longspan/study/text_page.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {

namespace {

constexpr const char* kData = "data";
constexpr double kEqual = 0.01;  ///< parameters agree within
constexpr double kValid = 0.02;  ///< of the text to train on is for validation

struct StudyTextFlags {
  StudyFlags study{"study-text"};
  std::vector<std::string> train, held_out;
  std::string windows = "16,64", lengths = "1024,4096,16384,65536";
  int64_t blocks = 16, growing_blocks = 2;
  bool quick = false, lengths_given = false;
};

StudyVariant of(const std::string& name, const std::string& attention, const std::vector<std::string>& options) {
  StudyVariant out{name, attention, attention};
  for (const std::string& option : options) out.settings.push_back(str_cat("model.attention_options.", option));
  return out;
}

class TextStudyRun {
 public:
  TextStudyRun(const StudyTextFlags& options, const CommonOptions& common) : options_(options), common_(common) {
    choose();
    for (const SearchPoint& point : points_) match(point);
  }

  void run() {
    const double start = now();
    const StudyFolder folder(options_.study, "text", {kResults, kCsv, kPage}, {kData});
    prepare();
    const CellFolder cells(options_.study.out, "text");
    const StudyPlan plan{
        variants_, points_, seeds_,
        [&](const StudyVariant& variant, const SearchPoint& point, int64_t seed) { return cell(variant, point, seed); },
        [](const Json& result) { return text_run(0, result).validation; }};
    folder.begin(plan, cells);
    cells.describe({}, data_);
    const StudyOutcome outcome = run_study(plan, cells, cell_run(common_, "study text", options_.study.jobs), rows(),
                                           [&](const Json& result) { return row_of(result); });
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      TextVariant& variant = study_.variants[i];
      const StudyOutcome::OfVariant& found = outcome.variants[i];
      found.describe(variant);
      variant.feed_forward = found.results.front().at("feed_forward").get<int64_t>();
      for (std::size_t seed = 0; seed < found.results.size(); ++seed)
        variant.runs.push_back(text_run(first_seed() + static_cast<int64_t>(seed), found.results[seed]));
    }
    study_.conditions.seconds = now() - start;
    write();
  }

 private:
  int64_t first_seed() const { return static_cast<int64_t>(common_.seed.value_or(0)); }

  void choose() {
    LONGSPAN_CHECK(!options_.train.empty(), "--train: expected files or folders to train on");
    LONGSPAN_CHECK(!options_.held_out.empty(), "--held-out: expected documents to measure on");
    std::vector<std::string> paths = options_.train;
    paths.insert(paths.end(), options_.held_out.begin(), options_.held_out.end());
    for (const std::string& path : paths) {
      std::error_code ignored;
      LONGSPAN_CHECK(path != "-" && std::filesystem::exists(path, ignored), "study text: cannot open '", path, "'");
    }
    points_ = options_.study.points();
    seeds_ = options_.study.seeds > 0 ? options_.study.seeds : options_.quick ? 1 : 3;
    study_.lengths =
        parse_lengths("--lengths", !options_.quick || options_.lengths_given ? options_.lengths : "1024,4096");
    std::sort(study_.lengths.begin(), study_.lengths.end());
    LONGSPAN_CHECK(study_.lengths.front() >= train::kTargetBlock, "--lengths: expected at least ", train::kTargetBlock,
                   ", got ", study_.lengths.front());
    study_.title = "longspan study: memories on text";
    if (options_.study.variants.empty())
      default_variants();
    else
      own_variants();
    check_names(variants_);

    const RunConfig shared = config_of(std::nullopt, {});
    study_.train_length = shared.train.length;
    Json recipe = {
        {"model", models::to_json(shared.model)}, {"train", train::to_json(shared.train)}, {"measure", measure()}};
    for (const char* own : {"attention", "attention_options", "feed_forward"}) recipe["model"].erase(own);
    study_.conditions = conditions_of(common_, std::move(recipe));
  }

  void add(const StudyVariant& variant, const std::string& baseline) {
    variants_.push_back(variant);
    study_.variants.push_back({{variant}, baseline});
  }

  void default_variants() {
    add(of("softmax", "softmax", {"rope=true"}), "");
    std::vector<int64_t> windows = parse_lengths("--windows", options_.windows);
    std::sort(windows.begin(), windows.end());
    for (const int64_t w : windows) {
      const std::string end = str_cat("-", w), window = str_cat("w=", w), local = "local" + end;
      add(of(local, "local", {window, "positions=table"}), "");
      add(of("mean" + end, "lavo", {window, "r=32"}), local);
      add(of("selective" + end, "lavo_selective", {window, "r=32"}), local);
      study_.panels.push_back({str_cat("Windows of ", w), "", {"softmax", local, "mean" + end, "selective" + end}});
      study_.variants.front().baseline = local;  // the widest window
    }
  }

  void own_variants() {
    std::vector<std::string> names;
    for (const std::string& text : options_.study.variants) {
      add(parse_variant(text), variants_.empty() ? "" : variants_.front().name);
      names.push_back(variants_.back().name);
    }
    for (auto& each : charts_of(names)) study_.panels.push_back({"Compared", "", std::move(each)});
  }

  Json measure() const {
    return {{"lengths", study_.lengths},
            {"blocks", options_.blocks},
            {"growing_blocks", options_.growing_blocks},
            {"valid_blocks", 16}};
  }

  /// Without a variant: what all share.
  RunConfig config_of(const std::optional<StudyVariant>& variant, const SearchPoint& point) const {
    RunConfigSources sources;
    // Long enough a warm-up for softmax with RoPE; the others do not mind it.
    sources.base = {{"model", {{"layers", 4}, {"width", 128}, {"heads", 4}, {"feed_forward", 512}}},
                    {"train", {{"steps", 2500}, {"batch", 4}, {"length", 1024}, {"warmup", 150}}}};
    if (options_.quick)
      sources.base = {{"model", {{"layers", 2}, {"width", 64}, {"heads", 2}, {"feed_forward", 128}}},
                      {"train", {{"steps", 30}, {"batch", 2}, {"length", 256}, {"warmup", 5}}}};
    if (variant) sources.attention = variant->attention;
    sources.settings = options_.study.settings;
    if (variant) sources.settings.insert(sources.settings.end(), variant->settings.begin(), variant->settings.end());
    sources.settings.insert(sources.settings.end(), point.settings.begin(), point.settings.end());
    RunConfig config = read_run_config(sources);
    if (variant) models::validate(config.model);
    train::validate(config.train);
    return config;
  }

  /// The feed-forward widths with which all have as many parameters as the one that has most.
  void match(const SearchPoint& point) {
    int64_t most = 0, least = 0, all = 0;
    std::vector<models::ModelConfig> configs;
    for (const StudyVariant& variant : variants_) {
      configs.push_back(config_of(variant, point).model);
      most = std::max(most, count_parameters(configs.back()));
    }
    for (std::size_t i = 0; i < configs.size(); ++i) {
      configs[i].feed_forward = matching_feed_forward(configs[i], most);
      feed_forward_[{variants_[i].name, point.label}] = configs[i].feed_forward;
      all = count_parameters(configs[i]);
      least = i == 0 ? all : std::min(least, all);
      most = std::max(most, all);
    }
    LONGSPAN_CHECK(static_cast<double>(most - least) <= kEqual * static_cast<double>(least),
                   "study text: parameters cannot be made equal within 1 %: from ", least, " to ", most);
  }

  void prepare() {
    const std::string place = options_.study.out + "/" + kData;
    PrepareProgress progress(common_.quiet);
    const auto write = [&](const std::vector<std::string>& inputs, const std::string& folder, double valid) {
      DatasetOptions dataset;
      dataset.inputs = inputs;
      dataset.output = folder;
      dataset.valid_fraction = valid;
      dataset.overwrite = true;
      write_dataset(dataset, progress);
      return Dataset(folder);
    };
    check_disjoint(find_inputs(options_.train, progress), find_inputs(options_.held_out, progress));
    const Dataset train = write(options_.train, place + "/train", kValid);
    const int64_t valid = train.split("valid").size(), validated = validated_length(study_.train_length);
    LONGSPAN_CHECK(valid > validated, "--train: ", 100 * kValid, " % of the text are for validation, which takes ",
                   validated + 1, " bytes, got ", valid, "; give more text");
    study_.train_bytes = train.info("train").source_bytes;
    data_ = {{"train", train.folder()}, {"held_out", Json::array()}};
    int64_t number = 0;
    for (const TextInput& input : find_inputs(options_.held_out, progress)) {
      const std::string folder = str_cat(place, "/held-out-", number++);
      const Dataset document = write({input.path}, folder, 0);
      const std::string name = std::filesystem::path(input.path).stem().string();
      const int64_t tokens = document.split("train").size();
      LONGSPAN_CHECK(tokens > study_.lengths.back(), "--held-out: '", input.path, "' has ", tokens,
                     " bytes, but the longest context takes ", study_.lengths.back() + 1);
      data_["held_out"].push_back({{"name", name}, {"folder", folder}});
      study_.held_out.push_back({name, tokens});
      study_.blocks += std::min(options_.blocks, (tokens - 1 - study_.lengths.back()) / train::kTargetBlock + 1);
    }
    identity_ = text_identity(data_);
  }

  StudyCell cell(const StudyVariant& variant, const SearchPoint& point, int64_t seed) const {
    RunConfig config = config_of(variant, point);
    config.model.feed_forward = feed_forward_.at({variant.name, point.label});
    config.train.seed = first_seed() + seed;
    StudyCell out;
    out.name = cell_name(variant, point, config.train.seed);
    out.label = cell_label(variant, point, config.train.seed);
    out.config = {{"model", models::to_json(config.model)},
                  {"train", train::to_json(config.train)},
                  {"measure", measure()},
                  {"text", identity_}};
    out.steps = config.train.steps;
    return out;
  }

  CellRows rows() const {
    std::vector<report::Column> columns = {{"cell"}, {"training", true}};
    for (const int64_t length : study_.lengths) columns.push_back({report::length_label(length), true});
    return {options_.study.output(common_), columns};
  }

  /// The cells of a row behind its label.
  std::vector<std::string> row_of(const Json& result) const {
    const TextRun run = text_run(0, result);
    std::vector<std::string> row = {report::duration(run.train_seconds)};
    for (const int64_t length : study_.lengths) {
      const auto bits = bits_per_byte(run, length);
      row.push_back(bits ? report::fixed(*bits, 4) : "-");
    }
    return row;
  }

  void write() const {
    const std::string& out = options_.study.out;
    save_json(out + "/" + kResults, to_json(study_));
    write_file(out + "/" + kCsv, to_csv(study_));
    text_page(study_).save(out + "/" + kPage);
    if (options_.study.markdown) return print_text(to_markdown(study_));
    if (common_.json) return print_json(to_json(study_));
    print_text(str_cat("\nBits per byte by context:\n", report::indent(report::to_text(bits_table(study_)), 2),
                       "\nDifference to the window alone:\n",
                       report::indent(report::to_text(difference_table(study_)), 2), "\n", text_sentence(study_), "\n",
                       out, "/", kPage, "\n"));
  }

  const StudyTextFlags& options_;
  const CommonOptions& common_;
  std::vector<StudyVariant> variants_;
  std::vector<SearchPoint> points_;
  int64_t seeds_ = 1;
  std::map<std::pair<std::string, std::string>, int64_t> feed_forward_;  ///< by variant and point
  std::string identity_;                                                 ///< of all texts
  Json data_;
  TextStudy study_;
};

}  // namespace

Action set_up_study_text(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<StudyTextFlags>();
  app.add_option("--train", options->train, "text to train on: files, and folders with all below them");
  app.add_option("--held-out", options->held_out, "whole documents to measure on, the same");
  options->study.add(app, "3", "NAME=attention,option=value,...: compare these instead, all with the first one",
                     "path.to.field=value for all, such as train.steps=5000 or model.width=256");
  app.add_option("--windows", options->windows,
                 "windows w of the compared local, mean and selective memories, with commas between (default: 16,64)");
  app.add_option("--lengths", options->lengths,
                 "tokens of context, the 1,024 targets included, with commas between (default: 1024,4096,16384,65536)");
  app.add_option("--blocks", options->blocks, "blocks of 1,024 targets in each document (default: 16)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--growing-blocks", options->growing_blocks,
                 "the same beyond 16K tokens for a memory whose state grows with the text (default: 2)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("--quick", options->quick, "tiny models, 30 steps, one seed, contexts up to 4K: to see that it works");
  const CLI::App* parsed = &app;
  return [options, &common, parsed] {
    options->lengths_given = parsed->count("--lengths") > 0;
    LONGSPAN_CHECK(!options->study.markdown || !common.json, "--markdown: not together with --json");
    TextStudyRun(*options, common).run();
  };
}

}  // namespace longspan::tool
