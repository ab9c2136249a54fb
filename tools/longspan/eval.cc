// longspan eval: bits per byte on the same target bytes with more or less context.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "command.h"
#include "evaluation_text.h"
#include "interrupt.h"
#include "longspan/base/check.h"
#include "longspan/models/model_files.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"
#include "longspan/train/evaluate.h"
#include "output.h"
#include "progress.h"
#include "settings.h"

namespace longspan::tool {

namespace {

struct Options {
  std::string model, data, split, lengths = "1024", ablate;
  std::vector<std::string> limits;
  train::EvaluateOptions evaluate;
};

/// {"65536=4"} -> {65536: 4}
std::map<int64_t, int64_t> parse_limits(const std::vector<std::string>& limits, const std::vector<int64_t>& lengths) {
  std::map<int64_t, int64_t> out;
  for (const std::string& limit : limits) {
    const auto at = limit.find('=');
    LONGSPAN_CHECK(at != std::string::npos, "--limit: expected length=blocks, got '", limit, "'");
    const auto length = parse_lengths("--limit", limit.substr(0, at)), blocks = parse_lengths("--limit", limit.substr(at + 1));
    LONGSPAN_CHECK(length.size() == 1 && blocks.size() == 1, "--limit: expected one length and one number, got '", limit,
                   "'");
    LONGSPAN_CHECK(std::find(lengths.begin(), lengths.end(), length.front()) != lengths.end(),
                   "--limit: expected one of --lengths, got ", length.front());
    out[length.front()] = blocks.front();
  }
  return out;
}

void evaluate(Options options, const CommonOptions& common) {
  const auto lengths = parse_lengths("--lengths", options.lengths);
  const auto limits = parse_limits(options.limits, lengths);
  if (!options.ablate.empty()) {
    const auto at = options.ablate.find('=');
    LONGSPAN_CHECK(at != std::string::npos && at > 0 && at + 1 < options.ablate.size(), "--ablate: expected part=way, such as memory=zero, got '", options.ablate,
                   "'");
    options.evaluate.ablate_part = options.ablate.substr(0, at);
    options.evaluate.ablate_way = options.ablate.substr(at + 1);
  }
  models::LoadedModel loaded = models::load_model(options.model);
  if (common.dtype == "float64") loaded.model->to(at::kDouble);
  options.evaluate.autocast = common.dtype == "bfloat16";
  const EvaluationText text(options.data, options.split, *loaded.tokenizer);
  train::ContextEvaluation evaluation(*loaded.model, text.tokens(), *std::max_element(lengths.begin(), lengths.end()),
                                      options.evaluate, text.bytes_per_token());
  report::Table table;
  table.columns = {{"context", true}, {"bits per byte", true}, {"blocks", true}, {"us/token", true}};
  for (const int64_t length : lengths) {
    const auto limit = limits.find(length);
    ProgressLine progress("eval " + report::length_label(length), 0, common.quiet);
    const train::ContextResult result =
        evaluation.run(length, limit == limits.end() ? 0 : limit->second, [&](int64_t done, int64_t total) {
          stop_if_interrupted();
          progress.set_total(total);
          progress.update(done, "blocks");
        });
    if (common.json)
      print_json({{"length", result.length},
                  {"bits_per_byte", result.bits_per_byte},
                  {"tokens", result.tokens},
                  {"us_per_token", result.us_per_token},
                  {"blocks", result.blocks},
                  {"ablate", options.ablate.empty() ? Json() : Json(options.ablate)},
                  {"target_offsets", result.block_offsets},
                  {"seconds", result.seconds}});
    table.rows.push_back({report::length_label(result.length), report::fixed(result.bits_per_byte, 4),
                          std::to_string(result.blocks), report::significant(result.us_per_token, 4)});
  }
  if (!common.json) print_text(report::to_text(table));
}

}  // namespace

Action set_up_eval(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "folder of the model")->required();
  app.add_option("--data", options->data, "a dataset, or a text file")->required();
  app.add_option("--split", options->split,
                 "split of the dataset (default: test, or valid where nothing was held out)");
  app.add_option("--lengths", options->lengths,
                 "tokens of context, the 1,024 targets included, with commas between (default: 1024)");
  app.add_option("--blocks", options->evaluate.blocks,
                 "target blocks of 1,024 tokens, the same for every length (default: 16)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--limit", options->limits,
                 "length=blocks: fewer blocks for a length that would cost too much (may be repeated)");
  app.add_option("--ablate", options->ablate,
                 "change a part of the attention: memory=zero, memory=mean or memory=swap");
  return [options, &common] { evaluate(*options, common); };
}

}  // namespace longspan::tool
