// longspan inspect lavo: which slots of the memory are read where, what they hold, and the local weights.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "inspect.h"
#include "lavo_view.h"
#include "longspan/base/check.h"
#include "longspan/data/token_file.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/inspection.h"
#include "longspan/models/model_files.h"
#include "tools/longspan/evaluation_text.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/utf8.h"

namespace longspan::tool {

namespace {

/// Everything of a position is kept, for every slot and every neighbour in its window.
constexpr int64_t kMostPositions = 4096;
/// Tokens that the model reads at once, about.
constexpr int64_t kPiece = 1024;

struct Options {
  std::string model, text, svg;
  int64_t from = 0, positions = 160;
};

std::vector<double> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

using Seen = std::map<std::string, at::Tensor>;

/// Reads the first from + positions tokens and keeps what every layer shows of the last `positions` of them.
std::vector<Seen> look(models::LanguageModel& model, const TokenFile& text, const Options& options,
                       ProgressLine& progress) {
  models::ModelInspection inspection(model);
  const int64_t end = options.from + options.positions;
  const int64_t rows = (kPiece + inspection.step() - 1) / inspection.step() * inspection.step();
  std::vector<std::map<std::string, std::vector<at::Tensor>>> kept;
  for (int64_t begin = 0; begin < end; begin += rows) {
    stop_if_interrupted();
    std::vector<int64_t> tokens(static_cast<std::size_t>(std::min(rows, end - begin)));
    text.copy_to(tokens.data(), begin, std::ssize(tokens));
    const auto layers = inspection.look(at::tensor(tokens, at::kLong).unsqueeze(0));
    kept.resize(layers.size());
    const int64_t skipped = std::clamp<int64_t>(options.from - begin, 0, std::ssize(tokens));
    for (std::size_t i = 0; skipped < std::ssize(tokens) && i < layers.size(); ++i)
      for (const auto& [name, tensor] : layers[i])
        kept[i][name].push_back(tensor.dim() == 4 ? tensor.narrow(2, skipped, std::ssize(tokens) - skipped).clone()
                                                  : tensor);
    progress.update(begin + std::ssize(tokens), "tokens read");
  }
  std::vector<Seen> out;
  for (const auto& layer : kept) {
    out.emplace_back();
    for (const auto& [name, parts] : layer) out.back()[name] = parts[0].dim() == 4 ? at::cat(parts, 2) : parts[0];
  }
  return out;
}

/// Of one stream.
LayerView view_of(const Seen& seen, double gain) {
  LayerView view;
  const at::Tensor reading = seen.at("reading")[0], &basis = seen.at("basis");  // [H, N, R], [H, R, D]
  view.heads = reading.size(0);
  view.positions = reading.size(1);
  view.slots = reading.size(2);
  view.head_width = basis.size(2);
  view.gain = gain;
  view.reading = values_of(reading);
  view.contents = values_of(seen.at("slots")[0]);
  view.basis = values_of(basis);
  if (const auto local = seen.find("local_weights"); local != seen.end()) {
    view.window = local->second.size(3);
    view.local = values_of(local->second[0]);
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
  const models::LoadedModel loaded = models::load_model(options.model);
  const models::ModelConfig& config = loaded.model->config();
  LONGSPAN_CHECK(config.attention == "lavo", "inspect: '", options.model, "' has the attention ", config.attention,
                 ", expected lavo");
  const EvaluationText text("--text", options.text, "", *loaded.tokenizer);
  const int64_t length = options.from + options.positions;
  LONGSPAN_CHECK(text.tokens().size() >= length, "--text: '", options.text, "' has ", text.tokens().size(),
                 " tokens, but --from and --positions ask for ", length);

  std::vector<LayerView> layers;
  {
    ProgressLine progress("inspect", length, common.quiet);
    const double gain = std::get<double>(config.attention_options.at("basis_gain"));
    for (const Seen& seen : look(*loaded.model, text.tokens(), options, progress)) {
      LONGSPAN_CHECK(seen.contains("reading"), "inspect: '", options.model, "' has no memory to look at");
      layers.push_back(view_of(seen, gain));
    }
  }
  if (!options.svg.empty()) {
    std::vector<int64_t> tokens(static_cast<std::size_t>(options.positions));
    text.tokens().copy_to(tokens.data(), options.from, options.positions);
    const std::vector<uint32_t> shown(tokens.begin(), tokens.end());
    AtomicFile file(options.svg);
    file.write(report::to_svg(lavo_picture(layers, options.model, labels_of(*loaded.tokenizer, shown))));
    file.commit();
  }
  for (std::size_t i = 0; common.json && i < layers.size(); ++i)
    print_json(to_json(layers[i], static_cast<int64_t>(i)));
  if (!common.json) print_text(report::to_text(lavo_table(layers)) + "\n" + lavo_legend());
}

}  // namespace

Action set_up_inspect_lavo(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("--text", options->text, "a text file, or a dataset (its held-out text)")->required();
  app.add_option("--svg", options->svg, "file for a picture: slots over the text, layer by layer");
  app.add_option("--from", options->from,
                 "first position shown; what lies before it is read, piece by piece (default: 0)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  app.add_option("--positions", options->positions, "positions shown, up to 4096 (default: 160)")
      ->check(CLI::Range(int64_t{1}, kMostPositions));
  return [options, &common] { inspect_lavo(*options, common); };
}

}  // namespace longspan::tool
