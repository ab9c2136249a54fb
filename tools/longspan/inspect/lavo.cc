// longspan inspect lavo: which slots of the memory are read where, what they hold, and the local weights.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "inspect.h"
#include "lavo_look.h"
#include "lavo_view.h"
#include "longspan/base/check.h"
#include "longspan/data/token_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/model_files.h"
#include "tools/longspan/evaluation_text.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"
#include "tools/longspan/output_file.h"
#include "tools/longspan/progress.h"

namespace longspan::tool {

namespace {

struct InspectLavoFlags {
  std::string model, text, svg;
  int64_t from = 0, positions = 160;
};

void inspect_lavo(const InspectLavoFlags& options, const CommonOptions& common) {
  if (!options.svg.empty()) check_replaces_svg("--svg", options.svg);
  const models::LoadedModel loaded = models::load_model(options.model);
  LONGSPAN_CHECK(loaded.model->config().attention == "lavo", "inspect: '", options.model, "' has the attention ",
                 loaded.model->config().attention, ", expected lavo");
  const EvaluationText text("--text", options.text, "", *loaded.tokenizer);
  const int64_t length = options.from + options.positions;
  LONGSPAN_CHECK(text.tokens().size() >= length, "--text: '", options.text, "' has ", text.tokens().size(),
                 " tokens, but --from and --positions ask for ", length);

  const auto read = [&](int64_t* out, int64_t begin, int64_t count) { text.tokens().copy_to(out, begin, count); };
  std::vector<LayerView> layers;
  {
    ProgressLine progress("inspect", length, common.quiet);
    layers = look_at(*loaded.model, options.from, options.positions, read, [&](int64_t done) {
      stop_if_interrupted();
      progress.update(done, "tokens read");
    });
  }
  if (!options.svg.empty()) {
    std::vector<int64_t> tokens(static_cast<std::size_t>(options.positions));
    read(tokens.data(), options.from, options.positions);
    const std::vector<uint32_t> shown(tokens.begin(), tokens.end());
    write_file(options.svg, report::to_svg(lavo_picture(layers, options.model, labels_of(*loaded.tokenizer, shown))));
  }
  for (std::size_t i = 0; common.json && i < layers.size(); ++i)
    print_json(to_json(layers[i], static_cast<int64_t>(i)));
  if (!common.json) print_text(report::to_text(lavo_table(layers)) + "\n" + lavo_legend());
}

}  // namespace

Action set_up_inspect_lavo(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<InspectLavoFlags>();
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("--text", options->text, "a text file, or a dataset (its held-out text)")->required();
  app.add_option("--svg", options->svg, "file for a picture: slots over the text, layer by layer");
  app.add_option("--from", options->from,
                 "first position shown; what lies before it is read, piece by piece (default: 0)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  app.add_option("--positions", options->positions, "positions shown (default: 160)")
      ->check(CLI::Range(int64_t{1}, kMostInspected));
  return [options, &common] { inspect_lavo(*options, common); };
}

}  // namespace longspan::tool
