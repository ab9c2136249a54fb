// longspan inspect contraction: how much the attention matrices of a trained model draw their rows together on a text.
#include "longspan/spectra/contraction.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contraction_view.h"
#include "inspect.h"
#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/encoder_files.h"
#include "longspan/models/inspection.h"
#include "longspan/models/model_files.h"
#include "longspan/ops/parallel.h"
#include "longspan/report/chart_file.h"
#include "longspan/report/format.h"
#include "tools/longspan/evaluation_text.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"
#include "tools/longspan/output_file.h"
#include "tools/longspan/progress.h"

namespace longspan::tool {

namespace {

/// Every matrix of a layer is held: 32 MB a head.
constexpr int64_t kMostPositions = 2048;

struct InspectContractionFlags {
  std::string model, text, svg;
  int64_t from = 0, positions = 256;
};

using OnLayer =
    std::function<void(int64_t layer, nn::Attention& attention, const std::map<std::string, at::Tensor>& seen)>;

/// A language model or a model of a task, ready to read tokens.
struct AnyModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::string attention;
  FieldValues options;
  int64_t layers = 0;
  std::function<void(const at::Tensor& tokens, const OnLayer& on_layer)> read;  ///< tokens [1, N]
};

/// Of what load_encoder() or load_model() gave and its configuration, but for how it reads.
template <class Loaded, class Config>
AnyModel taken(Loaded& loaded, const Config& config) {
  return {std::move(loaded.tokenizer), config.attention, config.attention_options, config.layers, {}};
}

AnyModel load(const std::string& folder) {
  if (models::model_config(folder, {}).contains("encoder")) {
    models::LoadedEncoder loaded = models::load_encoder(folder);
    AnyModel out = taken(loaded, loaded.model->encoder_config());
    out.read = [model = loaded.model](const at::Tensor& tokens, const OnLayer& on_layer) {
      const at::Tensor borders = at::tensor({int64_t{0}, tokens.size(1)}, at::kLong);
      models::inspect_forward(
          *model,
          [&] {
            model->hidden({tokens, borders});
          },
          on_layer);
    };
    return out;
  }
  models::LoadedModel loaded = models::load_model(folder);
  AnyModel out = taken(loaded, loaded.model->config());
  out.read = [model = loaded.model](const at::Tensor& tokens, const OnLayer& on_layer) {
    models::inspect_forward(
        *model, [&] { model->hidden(tokens); }, on_layer);
  };
  return out;
}

std::vector<double> row_of(const at::Tensor& matrix, int64_t row) {
  const at::Tensor values = matrix.select(0, row).to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

/// Whether the hops are Z_{k+1} = (1 - alpha) A Z_k + alpha V with alpha > 0: then theta_0 is alpha.
bool is_iteration(const FieldValues& options) {
  const auto kind = options.find("diffusion");
  return kind != options.end() && kind->second == FieldValue(std::string("ppr_iterate"));
}

void add_layer(ContractionLook& look, int64_t layer, const std::map<std::string, at::Tensor>& seen,
               const FieldValues& options) {
  LONGSPAN_CHECK(seen.contains("weights"), "inspect: the attention ", look.attention, " has no matrix of weights");
  const at::Tensor weights = seen.at("weights")[0].cpu().contiguous(), values = seen.at("values")[0].cpu().contiguous();
  const int64_t n = weights.size(1), width = values.size(2);
  for (int64_t h = 0; h < weights.size(0); ++h) {
    stop_if_interrupted();
    const double* a = weights.const_data_ptr<double>() + h * n * n;
    HeadContraction head;
    head.layer = layer;
    head.head = h;
    head.rows = spectra::row_distances(a, n, n, ops::torch_parallel());
    if (seen.contains("polynomial")) head.weights = row_of(seen.at("polynomial"), h);
    if (is_iteration(options) && head.weights.size() > 1 && head.weights.front() > 0) {
      head.alpha = head.weights.front();
      head.hops =
          spectra::hop_contraction(a, values.const_data_ptr<double>() + h * n * width, n, width, head.rows.largest,
                                   head.alpha, static_cast<int64_t>(head.weights.size()) - 1);
    }
    look.heads.push_back(std::move(head));
  }
}

void inspect_contraction(const InspectContractionFlags& options, const CommonOptions& common) {
  if (!options.svg.empty()) check_replaces_svg("--svg", options.svg);
  const AnyModel model = load(options.model);
  const EvaluationText text("--text", options.text, "", *model.tokenizer);
  const int64_t length = options.from + options.positions;
  LONGSPAN_CHECK(text.tokens().size() >= length, "--text: '", options.text, "' has ", text.tokens().size(),
                 " tokens, but --from and --positions ask for ", length);
  std::vector<int64_t> tokens(static_cast<std::size_t>(options.positions));
  text.tokens().copy_to(tokens.data(), options.from, options.positions);

  ContractionLook look;
  look.model = options.model;
  look.attention = model.attention;
  look.from = options.from;
  look.positions = options.positions;
  {
    ProgressLine progress("inspect", model.layers, common.quiet);
    model.read(at::tensor(tokens, at::kLong).unsqueeze(0),
               [&](int64_t layer, nn::Attention& attention, const std::map<std::string, at::Tensor>& seen) {
                 look.pattern = nn::to_string(attention.pattern());
                 add_layer(look, layer, seen, model.options);
                 progress.update(layer + 1, "layers");
               });
  }
  if (!options.svg.empty()) write_file(options.svg, report::to_svg_file(contraction_chart(look)));
  if (common.json) {
    for (const Json& head : to_json(look)) print_json(head);
    return;
  }
  print_text(str_cat(look.model, ": ", look.attention, ", ", look.pattern, ", positions ", report::grouped(look.from),
                     " to ", report::grouped(length - 1), "\n\n",
                     report::indent(report::to_text(contraction_table(look)), 2), "\n", contraction_legend()));
}

}  // namespace

Action set_up_inspect_contraction(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<InspectContractionFlags>();
  app.add_option("model", options->model, "folder of a language model, or of a model of a task")->required();
  app.add_option("--text", options->text, "a text file, or a dataset (its held-out text)")->required();
  app.add_option("--from", options->from, "first position of the text that is read (default: 0)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  app.add_option("--positions", options->positions, "tokens read, as one text (default: 256)")
      ->check(CLI::Range(int64_t{1}, kMostPositions));
  app.add_option("--svg", options->svg, "file for a picture: the hops of each layer against their bound");
  return [options, &common] { inspect_contraction(*options, common); };
}

}  // namespace longspan::tool
