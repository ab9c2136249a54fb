#include "spectrum_look.h"

#include <memory>
#include <utility>

#include "diffusion_weights.h"
#include "longspan/base/check.h"
#include "longspan/ops/parallel.h"
#include "longspan/spectra/full.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/progress.h"

namespace longspan::tool {

namespace {

/// What the searches and walks report, each on a line of its own.
class SpectrumProgress final : public Progress {
 public:
  explicit SpectrumProgress(bool quiet) : quiet_(quiet) {}
  void message(std::string_view) override {}
  void report(const ProgressReport& report) override {
    stop_if_interrupted();
    if (activity_ != report.activity) {
      line_.reset();
      activity_ = report.activity;
      line_ = std::make_unique<ProgressLine>("inspect, " + activity_, 0, quiet_);
    }
    line_->update(report.done, std::string(report.unit));
  }

 private:
  bool quiet_;
  std::string activity_;
  std::unique_ptr<ProgressLine> line_;
};

}  // namespace

spectra::SelfLoops loops_from_string(const std::string& text) {
  if (text == "pattern") return spectra::SelfLoops::pattern;
  if (text == "on") return spectra::SelfLoops::on;
  LONGSPAN_CHECK(text == "off", "--loops: expected pattern, on or off, got '", text, "'");
  return spectra::SelfLoops::off;
}

SpectrumLook look_at_spectrum(PatternLook pattern, const SpectrumOptions& options, bool quiet) {
  const Parallel& parallel = ops::torch_parallel();
  SpectrumLook look;
  look.pattern = std::move(pattern);
  look.loops = options.loops;
  look.kinds = diffusion_weights(options.hops, options.alpha, options.t);
  const spectra::Topology topology(look.pattern.pattern, loops_from_string(options.loops), parallel);
  look.degree_min = topology.least_degree();
  look.degree_mean = topology.mean_degree();
  look.degree_max = topology.largest_degree();
  look.components = topology.components();
  look.isolated = topology.isolated();
  look.graph_bytes = topology.bytes();
  SpectrumProgress progress(quiet);
  look.extremes = spectra::spectral_extremes(topology, options.extremes, parallel, &progress);
  if (topology.size() <= spectra::kMostForFullSpectrum) {
    look.spectrum = spectra::full_spectrum(topology, parallel);
    if (look.extremes) {  // the dense solver's values; Lanczos' vectors say where walks are slow
      const spectra::Extremes exact = spectra::extremes_of(look.spectrum);
      const auto replace = [](spectra::Extreme& found, double value) {
        found.value = value;
        found.residual = 0;
        found.converged = true;
        found.products = 0;
      };
      replace(look.extremes->second, exact.second.value);
      replace(look.extremes->largest, exact.largest.value);
      look.extremes->beta = exact.beta;
    }
  }
  if (topology.size() >= 2)
    look.mixing = spectra::measure_mixing(topology, *look.extremes, options.mixing, parallel, &progress);
  stop_if_interrupted();
  look.reach =
      spectra::reach_of(look.pattern.pattern, std::max<int64_t>(options.hops, 1), options.reach_queries, parallel);
  return look;
}

}  // namespace longspan::tool
