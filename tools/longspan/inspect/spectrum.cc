// longspan inspect spectrum: how well the graph of a sparse pattern is connected.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "inspect.h"
#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/report/chart_file.h"
#include "longspan/report/format.h"
#include "longspan/spectra/full.h"
#include "pattern_flags.h"
#include "spectrum_look.h"
#include "spectrum_view.h"
#include "tools/longspan/output.h"
#include "tools/longspan/output_file.h"

namespace longspan::tool {

namespace {

struct InspectSpectrumFlags {
  PatternFlags pattern;
  SpectrumOptions spectrum;
  std::string csv, svg, mixing_svg, response_svg;
};

void save(const std::string& path, const std::string& content) {
  if (!path.empty()) write_file(path, content);
}

void check_small(const std::string& flag, double value, double least) {
  LONGSPAN_CHECK(value >= least && value <= 1, flag, ": expected a number from ", least, " to 1, got ", value);
}

void inspect_spectrum(const InspectSpectrumFlags& options, const CommonOptions& common) {
  check_small("--tolerance", options.spectrum.extremes.tolerance, 1e-14);
  check_small("--delta", options.spectrum.mixing.delta, 1e-12);
  for (const auto& [flag, path] : {std::pair{"--svg", &options.svg},
                                   {"--mixing-svg", &options.mixing_svg},
                                   {"--response-svg", &options.response_svg}})
    if (!path->empty()) check_replaces_svg(flag, *path);
  if (!options.csv.empty()) check_replaces_csv("--csv", options.csv, "index,eigenvalue");
  PatternLook pattern = options.pattern.look(common);
  LONGSPAN_CHECK(options.svg.empty() || pattern.pattern.size() <= spectra::kMostForFullSpectrum,
                 "--svg: the picture needs all eigenvalues, which are computed up to ", spectra::kMostForFullSpectrum,
                 " tokens, got ", pattern.pattern.size());
  const SpectrumLook look = look_at_spectrum(std::move(pattern), options.spectrum, common.quiet);
  save(options.csv, to_csv(look));
  if (!options.svg.empty()) save(options.svg, report::to_svg_file(eigenvalue_chart(look)));
  if (!options.mixing_svg.empty()) save(options.mixing_svg, report::to_svg_file(mixing_chart(look)));
  if (!options.response_svg.empty()) save(options.response_svg, report::to_svg_file(response_chart(look)));
  if (common.json)
    print_json(to_json(look));
  else
    print_text(to_text(look));
}

}  // namespace

Action set_up_inspect_spectrum(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<InspectSpectrumFlags>();
  SpectrumOptions& spectrum = options->spectrum;
  options->pattern.add(app);
  app.add_option("--loops", spectrum.loops,
                 "is a token its own neighbour: as the pattern has it, always, never (default: pattern)")
      ->check(CLI::IsMember({"pattern", "on", "off"}));
  app.add_option("--tolerance", spectrum.extremes.tolerance,
                 "residual of both ends over the eigenvalue, where all are too many (default: 1e-4)");
  app.add_option("--products", spectrum.extremes.most_products,
                 "products with the graph after which a search gives up (default: 100000)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app.add_option("--delta", spectrum.mixing.delta, "total variation distance that counts as mixed (default: 0.01)");
  app.add_option("--steps", spectrum.mixing.most_steps, "steps of the walks at most (default: 1000)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 32));
  app.add_option("--hops", spectrum.hops, "hops of the diffusion, and of the reach (default: 5)")
      ->check(CLI::Range(int64_t{0}, int64_t{1000}));
  app.add_option("--alpha", spectrum.alpha, "share of the values at every hop, for the ppr kinds (default: 0.1)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--t", spectrum.t, "mean number of hops of heat (default: 3)")->check(CLI::Range(0.0, 1000.0));
  app.add_option("--queries", spectrum.reach_queries, "queries whose reach is counted (default: 256)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  app.add_option("--csv", options->csv, "file for a table: index, eigenvalue, response of every kind of diffusion");
  app.add_option("--svg", options->svg, "file for a picture: eigenvalues against their index");
  app.add_option("--mixing-svg", options->mixing_svg, "file for a picture: random walks against the bound by beta");
  app.add_option("--response-svg", options->response_svg,
                 "file for a picture: the response of every kind of diffusion");
  return [options, &common] { inspect_spectrum(*options, common); };
}

}  // namespace longspan::tool
