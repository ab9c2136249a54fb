// longspan inspect tradeoff: what the pairs of several patterns buy, and what they cost in time.
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inspect.h"
#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/nn/registry.h"
#include "longspan/ops/parallel.h"
#include "longspan/patterns/build.h"
#include "longspan/report/chart_file.h"
#include "longspan/report/format.h"
#include "longspan/spectra/full.h"
#include "longspan/spectra/reach.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/operator_run.h"
#include "tools/longspan/output.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/result_folder.h"
#include "tools/longspan/settings.h"
#include "tools/longspan/timing.h"
#include "tradeoff_view.h"

namespace longspan::tool {

namespace {

constexpr const char *kIndex = "index.html", *kTable = "tradeoff.csv", *kDensity = "density.svg", *kTime = "time.svg",
                     *kFigure = "eigenvalues.svg", *kEigenvalues = "eigenvalues.csv";
constexpr int64_t kReachQueries = 64;

struct InspectTradeoffFlags {
  std::vector<std::string> patterns;
  std::string out;
  int64_t n = 4096, figure_n = 1024, heads = 4, head_dim = 64, hops = 5;
  double min_seconds = 0.3;
  bool overwrite = false;
};

patterns::Pattern build(const PatternChoice& choice, int64_t n, uint64_t seed) {
  patterns::PatternInputs inputs;
  inputs.seed = seed;
  return patterns::build_pattern(patterns::pattern_options(choice.name, parse_settings(choice.settings)), n, inputs,
                                 ops::torch_parallel());
}

nn::AttentionPtr attention_of(const PatternChoice& choice, const InspectTradeoffFlags& options, uint64_t seed) {
  FieldValues values = parse_settings(choice.settings);
  values["pattern"] = choice.name;
  values["hops"] = options.hops;
  values["pattern_seed"] = static_cast<int64_t>(seed);
  const nn::AttentionSizes sizes = {.width = options.heads * options.head_dim, .heads = options.heads};
  return nn::make_attention("diffuser", nn::Pattern::noncausal_self, sizes, values);
}

SpectrumLook eigenvalues_of(const PatternChoice& choice, int64_t n, uint64_t seed) {
  SpectrumLook look;
  look.pattern.name = choice.name;
  look.pattern.pattern = build(choice, n, seed);
  look.spectrum = spectra::full_spectrum(spectra::Topology(look.pattern.pattern), ops::torch_parallel());
  if (look.spectrum.size() >= 2) look.extremes = spectra::extremes_of(look.spectrum);
  return look;
}

class Tradeoff {
 public:
  Tradeoff(const InspectTradeoffFlags& options, const CommonOptions& common)
      : options_(options),
        seed_(common.seed.value_or(0)),
        dtype_(dtype_from_string(common.dtype.value_or("float32"))),
        progress_("inspect", 0, common.quiet) {
    for (const std::string& text : options.patterns) choices_.push_back(parse_choice(text));
    if (choices_.empty()) choices_ = default_choices();
    for (const PatternChoice& choice : choices_) {
      patterns::pattern_options(choice.name, parse_settings(choice.settings));  // settings of the pattern alone
      attentions_.push_back(attention_of(choice, options, seed_));
    }
    progress_.set_total(static_cast<int64_t>(choices_.size() + figure_choices().size()) + 2);
    look_.n = options.n;
    look_.figure_n = options.figure_n;
    look_.hops = options.hops;
    look_.heads = options.heads;
    look_.head_dim = options.head_dim;
    look_.threads = at::get_num_threads();
    look_.seed = seed_;
    look_.dtype = common.dtype.value_or("float32");
  }

  const TradeoffLook& run() {
    for (const PatternChoice& choice : choices_) {
      look_.rows.push_back(connection(choice));
      step("eigenvalues");
    }
    if (options_.figure_n > 0)
      for (const PatternChoice& choice : figure_choices()) {
        look_.figure.push_back(eigenvalues_of(choice, options_.figure_n, seed_));
        step("all eigenvalues");
      }
    time(Pass::forward, &TradeoffRow::forward_us, &TradeoffRow::forward_spread);
    time(Pass::forward_backward, &TradeoffRow::both_us, &TradeoffRow::both_spread);
    return look_;
  }

 private:
  TradeoffRow connection(const PatternChoice& choice) const {
    const patterns::Pattern pattern = build(choice, options_.n, seed_);
    TradeoffRow row;
    row.choice = choice;
    row.pairs = pattern.pairs();
    row.density = pattern.density();
    const auto extremes = spectra::spectral_extremes(spectra::Topology(pattern), {}, ops::torch_parallel());
    row.extremes = *extremes;  // there are at least two tokens
    row.hops_to_all =
        spectra::reach_of(pattern, std::max<int64_t>(options_.hops, 1), kReachQueries, ops::torch_parallel())
            .hops_to_all;
    return row;
  }

  /// All patterns take turns, so that a busy machine slows them alike.
  void time(Pass pass, double TradeoffRow::*per_token, double TradeoffRow::*spread) {
    const OperatorShape shape{1, options_.heads, options_.n, options_.head_dim, dtype_, false};
    std::vector<std::unique_ptr<OperatorRun>> runs;
    std::vector<std::function<void()>> turns;
    for (const nn::AttentionPtr& attention : attentions_) {
      runs.push_back(std::make_unique<OperatorRun>(attention, shape, pass, seed_));
      turns.emplace_back([run = runs.back().get()] { (*run)(); });
    }
    TimingPlan plan;
    plan.minimum_seconds = options_.min_seconds;
    const std::vector<Timing> timings = time_alternating(turns, plan);
    for (std::size_t i = 0; i < timings.size(); ++i) {
      look_.rows[i].*per_token = 1e6 * timings[i].seconds / static_cast<double>(options_.n);
      look_.rows[i].*spread = timings[i].spread;
    }
    step(to_string(pass));
  }

  void step(const std::string& what) {
    stop_if_interrupted();
    progress_.update(++done_, what);
  }

  const InspectTradeoffFlags& options_;
  uint64_t seed_;
  at::ScalarType dtype_;
  ProgressLine progress_;
  std::vector<PatternChoice> choices_;
  std::vector<nn::AttentionPtr> attentions_;
  TradeoffLook look_;
  int64_t done_ = 0;
};

void inspect_tradeoff(const InspectTradeoffFlags& options, const CommonOptions& common) {
  std::optional<ResultFolder> folder;
  Tradeoff tradeoff(options, common);  // every mistake comes before the folder is touched
  if (!options.out.empty())
    folder.emplace(options.out,
                   ResultKind{"inspect tradeoff", {kIndex, kTable, kDensity, kTime, kFigure, kEigenvalues}, {}},
                   options.overwrite);
  const TradeoffLook& look = tradeoff.run();
  if (folder) {
    write_file(options.out + "/" + kTable, tradeoff_csv(look));
    write_file(options.out + "/" + kDensity, report::to_svg_file(density_chart(look)));
    write_file(options.out + "/" + kTime, report::to_svg_file(time_chart(look)));
    if (!look.figure.empty()) {
      write_file(options.out + "/" + kFigure, report::to_svg_file(figure_chart(look)));
      write_file(options.out + "/" + kEigenvalues, figure_csv(look));
    }
    tradeoff_page(look, report::join(common.command, " ")).save(options.out + "/" + kIndex);
    folder->keep();
  }
  if (!common.json) {
    print_text(str_cat(report::grouped(look.n), " tokens; time: the operator with ", look.hops, " hops, ", look.heads,
                       " heads of ", look.head_dim, ", ", look.dtype, ", ", look.threads, " threads\n\n",
                       report::to_text(tradeoff_table(look))));
    return;
  }
  for (const TradeoffRow& row : look.rows) print_json(to_json(look, row));
}

}  // namespace

Action set_up_inspect_tradeoff(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<InspectTradeoffFlags>();
  app.add_option("--out", options->out, "folder for a page, tables as CSV and pictures");
  app.add_flag("--overwrite", options->overwrite, "replace the results of an earlier run in --out");
  app.add_option("--pattern", options->patterns,
                 "a pattern, with settings: window_overlap+random:w=64,r=16; those of one name make a line (may be "
                 "repeated; default: six families)")
      ->allow_extra_args(false);
  app.add_option("--n", options->n, "number of tokens (default: 4096)")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 24));
  app.add_option("--figure-n", options->figure_n,
                 "tokens of the picture of all eigenvalues of four patterns, 0: without it (default: 1024)")
      ->check(CLI::Range(int64_t{0}, spectra::kMostForFullSpectrum));
  app.add_option("--heads", options->heads, "heads of the timed operator (default: 4)")
      ->check(CLI::Range(int64_t{1}, int64_t{1024}));
  app.add_option("--head-dim", options->head_dim, "width of a head (default: 64)")
      ->check(CLI::Range(int64_t{1}, int64_t{1024}));
  app.add_option("--hops", options->hops, "hops of the diffusion (default: 5)")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  app.add_option("--min-seconds", options->min_seconds, "measured time for each pattern and pass (default: 0.3)")
      ->check(CLI::Range(0.0, 1e6));
  return [options, &common] { inspect_tradeoff(*options, common); };
}

}  // namespace longspan::tool
