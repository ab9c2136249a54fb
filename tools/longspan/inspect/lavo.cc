// longspan inspect lavo: which slots of the memory are read where, what they hold, and the local weights.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <span>

#include "inspect.h"
#include "lavo_view.h"
#include "longspan/base/check.h"
#include "longspan/data/token_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/model_files.h"
#include "tools/longspan/evaluation_text.h"
#include "tools/longspan/output.h"
#include "tools/longspan/utf8.h"

namespace longspan::tool {

namespace {

/// Looking is slow and takes memory for every pair of a position and a neighbour in its window.
constexpr int64_t kMostTokens = 4096;

struct Options {
  std::string model, text, svg;
  int64_t from = 0, positions = 160;
};

std::vector<double> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

/// The last `positions` positions of what nn::Attention::inspect() tells of one stream.
LayerView view_of(const std::map<std::string, at::Tensor>& seen, int64_t positions, double gain) {
  const auto tail = [&](const at::Tensor& tensor) {  // [1, H, N, C] -> [H, positions, C]
    return tensor[0].narrow(1, tensor.size(2) - positions, positions);
  };
  LayerView view;
  const at::Tensor reading = tail(seen.at("reading")), &basis = seen.at("basis");
  view.heads = reading.size(0);
  view.positions = positions;
  view.slots = reading.size(2);
  view.head_width = basis.size(2);
  view.gain = gain;
  view.reading = values_of(reading);
  view.contents = values_of(tail(seen.at("slots")));
  view.basis = values_of(basis);
  if (const auto local = seen.find("local_weights"); local != seen.end()) {
    view.window = local->second.size(3);
    view.local = values_of(tail(local->second));
  }
  return view;
}

/// The character that begins at each token; "" for a token within one.
std::vector<std::string> labels_of(const Tokenizer& tokenizer, const std::vector<uint32_t>& tokens) {
  std::vector<std::string> labels(tokens.size());
  std::string pending;
  for (std::size_t i = 0, first = 0; i < tokens.size(); ++i) {
    if (pending.empty()) first = i;
    pending += tokenizer.decode(std::span(&tokens[i], 1));
    if (whole_characters(pending) < pending.size() && i + 1 < tokens.size()) continue;
    labels[first] = pending;
    pending.clear();
  }
  return labels;
}

void inspect_lavo(const Options& options, const CommonOptions& common) {
  LONGSPAN_CHECK(options.from <= kMostTokens - options.positions, "inspect: --from and --positions must be at most ",
                 kMostTokens, " together, got ", options.from, " and ", options.positions);
  const models::LoadedModel loaded = models::load_model(options.model);
  const models::ModelConfig& config = loaded.model->config();
  LONGSPAN_CHECK(config.attention == "lavo", "inspect: '", options.model, "' has the attention ", config.attention,
                 ", expected lavo");
  const EvaluationText text(options.text, "", *loaded.tokenizer);
  const int64_t length = options.from + options.positions;
  LONGSPAN_CHECK(text.tokens().size() >= length, "--text: '", options.text, "' has ", text.tokens().size(),
                 " tokens, but --from and --positions ask for ", length);
  std::vector<int64_t> tokens(static_cast<std::size_t>(length));
  text.tokens().copy_to(tokens.data(), 0, length);

  std::vector<LayerView> layers;
  const double gain = std::get<double>(config.attention_options.at("basis_gain"));
  for (const auto& seen : loaded.model->inspect(at::tensor(tokens, at::kLong).unsqueeze(0))) {
    LONGSPAN_CHECK(seen.contains("reading"), "inspect: '", options.model, "' has no memory to look at");
    layers.push_back(view_of(seen, options.positions, gain));
  }
  if (!options.svg.empty()) {
    const std::vector<uint32_t> shown(tokens.begin() + static_cast<std::ptrdiff_t>(options.from), tokens.end());
    AtomicFile file(options.svg);
    file.write(report::to_svg(lavo_picture(layers, options.model, labels_of(*loaded.tokenizer, shown))));
    file.commit();
  }
  for (std::size_t i = 0; common.json && i < layers.size(); ++i)
    print_json(to_json(layers[i], static_cast<int64_t>(i)));
  if (!common.json) print_text(report::to_text(lavo_table(layers)));
}

}  // namespace

Action set_up_inspect_lavo(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("--text", options->text, "a text file, or a dataset (its held-out text)")->required();
  app.add_option("--svg", options->svg, "file for a picture: slots over the text, layer by layer")
      ->check([](const std::string& path) { return std::string(path.empty() ? "expected a file name, got ''" : ""); });
  app.add_option("--from", options->from, "first position shown; what lies before it is read (default: 0)")
      ->check(CLI::Range(int64_t{0}, kMostTokens));
  app.add_option("--positions", options->positions, "positions shown (default: 160)")
      ->check(CLI::Range(int64_t{1}, kMostTokens));
  return [options, &common] { inspect_lavo(*options, common); };
}

}  // namespace longspan::tool
