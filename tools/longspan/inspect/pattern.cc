// longspan inspect pattern: a sparse pattern in numbers and as a picture.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "inspect.h"
#include "longspan/io/atomic_file.h"
#include "pattern_flags.h"
#include "pattern_view.h"
#include "tools/longspan/output.h"
#include "tools/longspan/output_file.h"

namespace longspan::tool {

namespace {

struct InspectPatternFlags {
  PatternFlags pattern;
  std::string svg;
};

void inspect_pattern(const InspectPatternFlags& options, const CommonOptions& common) {
  if (!options.svg.empty()) check_replaces_svg("--svg", options.svg);
  const PatternLook look = options.pattern.look(common);
  if (!options.svg.empty()) write_file(options.svg, report::to_svg(pattern_picture(look)));
  if (common.json)
    print_json(to_json(look));
  else
    print_text(to_text(look));
}

}  // namespace

Action set_up_inspect_pattern(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<InspectPatternFlags>();
  options->pattern.add(app);
  app.add_option("--svg", options->svg, "file for a picture of the pattern")->check(expect_file_name);
  return [options, &common] { inspect_pattern(*options, common); };
}

}  // namespace longspan::tool
