// longspan inspect pattern: a sparse pattern in numbers and as a picture.
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inspect.h"
#include "longspan/base/check.h"
#include "longspan/data/edge_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/ops/parallel.h"
#include "longspan/patterns/build.h"
#include "longspan/report/format.h"
#include "pattern_view.h"
#include "tools/longspan/output.h"
#include "tools/longspan/output_file.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

namespace {

struct Options {
  std::string pattern, edges, svg;
  std::optional<int64_t> n;
  int64_t layer = 0;
  std::vector<std::string> set;
};

void inspect_pattern(const Options& options, const CommonOptions& common) {
  if (!options.svg.empty()) check_replaces_svg("--svg", options.svg);
  LONGSPAN_CHECK(!options.pattern.empty() || !options.edges.empty(),
                 "inspect: name a pattern by --pattern, or a file of pairs by --edges");
  PatternLook look;
  look.name = options.pattern.empty() ? "edges" : options.pattern;
  look.options = patterns::pattern_options(look.name, parse_settings(options.set));
  look.seed = common.seed.value_or(0);
  look.layer = options.layer;
  std::optional<patterns::EdgeList> edges;
  if (!options.edges.empty()) edges = read_edges(options.edges, options.n);
  LONGSPAN_CHECK(edges || !patterns::uses(look.options, patterns::Generator::edges), "inspect: the pattern ", look.name,
                 " needs a file of pairs: --edges");
  LONGSPAN_CHECK(edges || options.n, "inspect: --n, the number of tokens, is required");
  look.tokens = options.n ? *options.n : edges->n;
  look.duplicates = edges ? edges->duplicates : 0;
  patterns::PatternInputs inputs;
  inputs.seed = look.seed;
  inputs.layer = look.layer;
  inputs.edges = edges ? &*edges : nullptr;
  look.pattern = patterns::build_pattern(look.options, look.tokens, inputs, ops::torch_parallel());
  look.statistics = patterns::statistics(look.pattern.view());

  if (!options.svg.empty()) {
    AtomicFile file(options.svg);
    file.write(report::to_svg(pattern_picture(look)));
    file.commit();
  }
  if (common.json)
    print_json(to_json(look));
  else
    print_text(to_text(look));
}

}  // namespace

Action set_up_inspect_pattern(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<Options>();
  const auto not_empty = [](const std::string& path) {
    return std::string(path.empty() ? "expected a file name, got ''" : "");
  };
  const int64_t most = std::numeric_limits<int32_t>::max();
  app.add_option(
      "--pattern", options->pattern,
      "a preset, a generator, or generators with '+' between: " + report::join(patterns::pattern_names(), ", "));
  app.add_option("--n", options->n, "number of tokens (default: those of --edges)")
      ->check(CLI::Range(int64_t{0}, most));
  app.add_option("--set", options->set,
                 "a field of the pattern: w=64, r=128, causal=true, ...; the fields in use are printed")
      ->allow_extra_args(false);
  app.add_option("--edges", options->edges,
                 "pairs of your own: text, a query and a key in each line, or compressed rows in a .safetensors file")
      ->check(not_empty);
  app.add_option("--layer", options->layer, "layer whose random keys are drawn (default: 0)")
      ->check(CLI::Range(int64_t{0}, most));
  app.add_option("--svg", options->svg, "file for a picture of the pattern")->check(not_empty);
  return [options, &common] { inspect_pattern(*options, common); };
}

}  // namespace longspan::tool
