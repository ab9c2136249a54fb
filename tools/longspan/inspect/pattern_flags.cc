#include "pattern_flags.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "longspan/base/check.h"
#include "longspan/data/edge_file.h"
#include "longspan/ops/parallel.h"
#include "longspan/patterns/build.h"
#include "longspan/report/format.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

std::string expect_file_name(const std::string& path) { return path.empty() ? "expected a file name, got ''" : ""; }

void PatternFlags::add(CLI::App& app) {
  const int64_t most = std::numeric_limits<int32_t>::max();
  app.add_option(
      "--pattern", pattern_,
      "a preset, a generator, or generators with '+' between: " + report::join(patterns::pattern_names(), ", "));
  app.add_option("--n", n_, "number of tokens (default: those of --edges)")->check(CLI::Range(int64_t{0}, most));
  app.add_option("--set", set_, "a field of the pattern: w=64, r=128, causal=true, ...; the fields in use are printed")
      ->allow_extra_args(false);
  app.add_option("--edges", edges_,
                 "pairs of your own: text, a query and a key in each line, or compressed rows in a .safetensors file")
      ->check(expect_file_name);
  app.add_option("--layer", layer_, "layer whose random keys are drawn (default: 0)")
      ->check(CLI::Range(int64_t{0}, most));
}

PatternLook PatternFlags::look(const CommonOptions& common) const {
  LONGSPAN_CHECK(!pattern_.empty() || !edges_.empty(),
                 "inspect: name a pattern by --pattern, or a file of pairs by --edges");
  PatternLook look;
  look.name = pattern_.empty() ? "edges" : pattern_;
  look.options = patterns::pattern_options(look.name, parse_settings(set_));
  look.seed = common.seed.value_or(0);
  look.layer = layer_;
  std::optional<patterns::EdgeList> edges;
  if (!edges_.empty()) edges = read_edges(edges_, n_);
  LONGSPAN_CHECK(edges || !patterns::uses(look.options, patterns::Generator::edges), "inspect: the pattern ", look.name,
                 " needs a file of pairs: --edges");
  LONGSPAN_CHECK(edges || n_, "inspect: --n, the number of tokens, is required");
  look.tokens = n_ ? *n_ : edges->n;
  look.duplicates = edges ? edges->duplicates : 0;
  patterns::PatternInputs inputs;
  inputs.seed = look.seed;
  inputs.layer = look.layer;
  inputs.edges = edges ? &*edges : nullptr;
  look.pattern = patterns::build_pattern(look.options, look.tokens, inputs, ops::torch_parallel());
  look.statistics = patterns::statistics(look.pattern.view());
  return look;
}

}  // namespace longspan::tool
