// longspan eval: bits per byte on the same target bytes with more or less context, and with parts of the model changed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "attention_of.h"
#include "command.h"
#include "evaluation_text.h"
#include "interrupt.h"
#include "live_table.h"
#include "log.h"
#include "longspan/base/check.h"
#include "longspan/models/model_files.h"
#include "longspan/report/format.h"
#include "longspan/train/evaluate.h"
#include "output.h"
#include "progress.h"
#include "settings.h"

namespace longspan::tool {

namespace {

struct EvalFlags {
  std::string model, data, split, lengths = "1024";
  std::vector<std::string> limits, ablate;
  train::EvaluateOptions evaluate;
};

/// {"65536=4"} -> {65536: 4}
std::map<int64_t, int64_t> parse_limits(const std::vector<std::string>& limits, const std::vector<int64_t>& lengths) {
  std::map<int64_t, int64_t> out;
  for (const std::string& limit : limits) {
    const auto at = limit.find('=');
    LONGSPAN_CHECK(at != std::string::npos, "--limit: expected length=blocks, got '", limit, "'");
    const auto length = parse_lengths("--limit", limit.substr(0, at)),
               blocks = parse_lengths("--limit", limit.substr(at + 1));
    LONGSPAN_CHECK(length.size() == 1 && blocks.size() == 1, "--limit: expected one length and one number, got '",
                   limit, "'");
    LONGSPAN_CHECK(std::find(lengths.begin(), lengths.end(), length.front()) != lengths.end(),
                   "--limit: expected one of --lengths, got ", length.front());
    out[length.front()] = blocks.front();
  }
  return out;
}

/// A part of the attention and what is done to it.
struct Ablation {
  std::string part, way;
  std::string name() const { return part + "=" + way; }
};

Ablation parse_ablation(const std::string& text) {
  const auto at = text.find('=');
  LONGSPAN_CHECK(at != std::string::npos && at > 0 && at + 1 < text.size(),
                 "--ablate: expected all, or part=way such as memory=zero, got '", text, "'");
  return {text.substr(0, at), text.substr(at + 1)};
}

/// Those asked for, in order; `all` stands for every one that the model's attention offers. What the attention lacks is
/// refused in its own words.
std::vector<Ablation> chosen_ablations(const std::vector<std::string>& asked, models::LanguageModel& model) {
  std::vector<Ablation> out;
  for (const std::string& text : asked) {
    if (text != "all") {
      const Ablation ablation = parse_ablation(text);
      model.ablate(ablation.part, ablation.way);
      model.ablate(ablation.part, "none");
      out.push_back(ablation);
      continue;
    }
    for (const std::string& offered : attention_of(model).ablations())
      if (const Ablation ablation = parse_ablation(offered); ablation.way != "none") out.push_back(ablation);
    LONGSPAN_CHECK(!out.empty(), "--ablate: the attention ", model.config().attention, " has no part to change");
  }
  return out;
}

class Evaluation {
 public:
  Evaluation(const EvalFlags& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        lengths_(parse_lengths("--lengths", options.lengths)),
        limits_(parse_limits(options.limits, lengths_)),
        loaded_(models::load_model(options.model)) {
    if (common.dtype == "float64") loaded_.model->to(at::kDouble);
    check_positions(loaded_.model->config());
    ablations_ = chosen_ablations(options.ablate, *loaded_.model);
    text_.emplace("--data", options.data, options.split, *loaded_.tokenizer);
    table_.emplace(make_table());
  }

  void run() {
    for (const int64_t length : lengths_) report(std::nullopt, plain_[length] = measure(length, std::nullopt));
    for (const Ablation& ablation : ablations_)
      for (const int64_t length : lengths_)
        if (ablation.way == "swap" && plain_.at(length).blocks < 2)
          log_info(str_cat(ablation.name(), " is left out at length ", length, ": it needs 2 blocks"));
        else
          report(ablation, measure(length, ablation));
  }

 private:
  /// What the model cannot read is told before the first row, not when its turn comes.
  void check_positions(const models::ModelConfig& config) const {
    if (config.positions != models::Positions::learned) return;
    for (const int64_t length : lengths_)
      LONGSPAN_CHECK(length <= config.max_positions,
                     "--lengths: the model's learned positions end at max_positions = ", config.max_positions, ", got ",
                     length);
  }

  LiveTable make_table() const {
    std::vector<report::Column> columns = {
        {"context", true}, {"bits per byte", true}, {"blocks", true}, {"us/token", true}};
    if (ablations_.empty()) return {columns, {7, 13, 6, 9}};
    columns.insert(columns.begin(), {"changed"});
    columns.push_back({"difference", true});
    std::size_t longest = 0;
    for (const Ablation& ablation : ablations_) longest = std::max(longest, ablation.name().size());
    return {columns, {longest, 7, 13, 6, 9}};
  }

  train::ContextResult measure(int64_t length, const std::optional<Ablation>& ablation) {
    train::EvaluateOptions options = options_.evaluate;
    options.autocast = common_.dtype == "bfloat16";
    if (ablation) {
      options.ablate_part = ablation->part;
      options.ablate_way = ablation->way;
    }
    train::ContextEvaluation evaluation(
        *loaded_.model, text_->tokens(), *std::max_element(lengths_.begin(), lengths_.end()), options,
        [&](int64_t first, int64_t count) { return text_->source_bytes(first, count); });
    const auto limit = limits_.find(length);
    ProgressLine progress(
        str_cat("eval ", report::length_label(length), ablation ? ", " + ablation->name() : std::string()), 0,
        common_.quiet);
    return evaluation.run(length, limit == limits_.end() ? 0 : limit->second, [&](int64_t done, int64_t total) {
      stop_if_interrupted();
      progress.set_total(total);
      progress.update(done, "blocks");
    });
  }

  void report(const std::optional<Ablation>& ablation, const train::ContextResult& result) {
    const double difference = result.bits_per_byte - plain_.at(result.length).bits_per_byte;
    if (common_.json)
      print_json({{"length", result.length},
                  {"bits_per_byte", result.bits_per_byte},
                  {"tokens", result.tokens},
                  {"us_per_token", result.us_per_token},
                  {"blocks", result.blocks},
                  {"ablate", ablation ? Json(ablation->name()) : Json()},
                  {"difference", ablation ? Json(difference) : Json()},
                  {"target_offsets", result.block_offsets},
                  {"seconds", result.seconds}});
    if (common_.json) return;
    std::vector<std::string> row = {report::length_label(result.length), report::fixed(result.bits_per_byte, 4),
                                    std::to_string(result.blocks), report::significant(result.us_per_token, 4)};
    if (!ablations_.empty()) {
      row.insert(row.begin(), ablation ? ablation->name() : "nothing");
      row.push_back(ablation ? report::signed_fixed(difference, 4) : "");
    }
    print_text(table_->add(row));
  }

  const EvalFlags& options_;
  const CommonOptions& common_;
  std::vector<int64_t> lengths_;
  std::map<int64_t, int64_t> limits_;
  models::LoadedModel loaded_;
  std::vector<Ablation> ablations_;
  std::optional<EvaluationText> text_;
  std::map<int64_t, train::ContextResult> plain_;  ///< by length
  std::optional<LiveTable> table_;
};

}  // namespace

Action set_up_eval(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<EvalFlags>();
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
                 "length=blocks: fewer blocks for a length that would cost too much (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--ablate", options->ablate,
                 "measure also with a part of the attention changed: memory=zero, local=zero, head=0, ..., or all that "
                 "the attention offers (may be repeated)")
      ->allow_extra_args(false);
  return [options, &common] { Evaluation(*options, common).run(); };
}

}  // namespace longspan::tool
