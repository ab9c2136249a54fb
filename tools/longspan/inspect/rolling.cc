// longspan inspect rolling: how much the output of an attention, or of a trained model, changes when the text is rolled
// round.
#include "longspan/nn/rolling.h"

#include <torch/utils.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "inspect.h"
#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/nn/diffuser.h"
#include "longspan/nn/registry.h"
#include "longspan/patterns/options.h"
#include "longspan/report/chart_file.h"
#include "longspan/report/format.h"
#include "rolling_model.h"
#include "rolling_view.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"
#include "tools/longspan/output_file.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/settings.h"

namespace longspan::tool {

namespace {

const std::map<std::string, nn::PatternRoll> kRolls = {
    {"none", nn::PatternRoll::none}, {"global", nn::PatternRoll::global_tokens}, {"all", nn::PatternRoll::all}};

struct InspectRollingFlags {
  std::string attention = "diffuser", shifts, svg, roll = "none";
  RollingModelOptions of_model;
  std::vector<std::string> patterns, set;
  std::vector<CLI::Option*> layer_flags, model_flags;
  int64_t n = 1024, heads = 4, head_dim = 16;
};

/// The settings for one of several patterns: without those that it has no use for and another one has.
FieldValues settings_for(const std::string& name, const std::vector<std::string>& names, FieldValues values) {
  const auto unused = [](const std::string& pattern, const std::string& field) {
    const FieldValues fields = patterns::pattern_values(patterns::pattern_options(pattern));
    const auto found = fields.find(field);
    return found != fields.end() && std::holds_alternative<std::monostate>(found->second);
  };
  std::erase_if(values, [&](const auto& value) {
    return unused(name, value.first) &&
           !std::all_of(names.begin(), names.end(), [&](const auto& other) { return unused(other, value.first); });
  });
  values["pattern"] = name;
  return values;
}

/// The output for a text that was rolled, with what is to be rolled of the pattern.
at::Tensor rolled_output(nn::Attention& attention, const at::Tensor& x, nn::PatternRoll roll, int64_t shift) {
  if (roll != nn::PatternRoll::none)
    dynamic_cast<nn::DiffuserAttention&>(attention).roll_pattern(roll, {.shift = shift});
  return attention.forward(x);
}

void inspect_rolling(const InspectRollingFlags& options, const CommonOptions& common) {
  if (!options.svg.empty()) check_replaces_svg("--svg", options.svg);
  const nn::PatternRoll roll = kRolls.at(options.roll);
  const bool has_model = !options.of_model.model.empty();
  for (const CLI::Option* flag : has_model ? options.layer_flags : options.model_flags)
    LONGSPAN_CHECK(flag->count() == 0, flag->get_name(), ": ",
                   has_model
                       ? "of one layer with random weights, it has no use with a model"
                       : "examples and settings of a model, but no MODEL is given: inspect rolling MODEL --data FILE");
  if (has_model)
    return inspect_rolling_model(options.of_model, options.shifts, roll, options.roll, options.svg, common);
  LONGSPAN_CHECK(roll == nn::PatternRoll::none || options.attention == "diffuser",
                 "--roll-pattern: only the attention diffuser has a pattern that could be rolled, got ",
                 options.attention);
  LONGSPAN_CHECK(options.patterns.empty() || options.attention == "diffuser",
                 "--pattern: only the attention diffuser has a pattern by name, got ", options.attention);
  RollingLook look;
  look.attention = options.attention;
  look.n = options.n;
  look.seed = common.seed.value_or(0);
  look.shifts = shifts_of(options.shifts, options.n);
  const nn::AttentionSizes sizes = {.width = options.heads * options.head_dim, .heads = options.heads};
  std::vector<std::string> names = options.patterns;
  if (names.empty()) names.emplace_back();
  std::vector<nn::AttentionPtr> attentions;  // every mistake comes before the work
  for (const std::string& name : names) {
    FieldValues values = parse_settings(options.set);
    if (!name.empty()) values = settings_for(name, names, std::move(values));
    torch::manual_seed(look.seed);  // one set of weights for all
    nn::AttentionPtr attention = nn::make_attention(options.attention, nn::Pattern::noncausal_self, sizes, values);
    attention->to(torch::kDouble);
    attention->eval();
    look.series.push_back({name.empty() ? options.attention : name, attention->options(), {}});
    attentions.push_back(std::move(attention));
  }
  torch::manual_seed(look.seed);
  const at::Tensor x = at::randn({1, options.n, sizes.width}, at::kDouble);
  const auto each = static_cast<int64_t>(look.shifts.size());
  ProgressLine progress("inspect", static_cast<int64_t>(names.size()) * each, common.quiet);
  for (std::size_t i = 0; i < attentions.size(); ++i)
    look.series[i].errors = nn::rolling_errors(
        [&](const at::Tensor& rolled, int64_t shift) { return rolled_output(*attentions[i], rolled, roll, shift); }, x,
        look.shifts,
        [&](int64_t done) {
          stop_if_interrupted();
          progress.update(static_cast<int64_t>(i) * each + done, "shifts");
        });

  if (!options.svg.empty()) write_file(options.svg, report::to_svg_file(rolling_chart(look)));
  if (!common.json) {
    print_text(str_cat(look.attention, ", ", report::grouped(look.n), " tokens, ", options.heads, " heads of ",
                       options.head_dim, ": relative change of the output when the text is rolled\n",
                       report::indent(report::to_text(rolling_table(look)), 2)));
    return;
  }
  for (const Json& object : to_json(look)) print_json(object);
}

}  // namespace

Action set_up_inspect_rolling(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<InspectRollingFlags>();
  app.add_option("model", options->of_model.model,
                 "folder of a model of a task; without one, one layer with random weights");
  options->layer_flags = {
      app.add_option("--attention", options->attention, "attention with random weights, noncausal (default: diffuser)"),
      app.add_option("--pattern", options->patterns, "diffuser: a pattern; several are compared (may be repeated)")
          ->allow_extra_args(false),
      app.add_option("--set", options->set, "option of the attention, FIELD=VALUE (may be repeated)")
          ->allow_extra_args(false),
      app.add_option("--n", options->n, "number of tokens (default: 1024)")
          ->check(CLI::Range(int64_t{1}, int64_t{1} << 24)),
      app.add_option("--heads", options->heads, "heads (default: 4)")->check(CLI::Range(int64_t{1}, int64_t{1024})),
      app.add_option("--head-dim", options->head_dim, "width of a head (default: 16)")
          ->check(CLI::Range(int64_t{1}, int64_t{1024}))};
  app.add_option("--shifts", options->shifts,
                 "shifts with commas between (default: 0, 1, 2, 4, ... up to half of the tokens)");
  app.add_option("--roll-pattern", options->roll,
                 "diffuser: what of its pattern goes with the text: none, global (tokens that saw all still do) or all "
                 "(default: none)")
      ->check(CLI::IsMember(kRolls));
  app.add_option("--svg", options->svg, "file for a chart");
  options->model_flags = add_rolling_model_flags(app, options->of_model);
  return [options, &common] { inspect_rolling(*options, common); };
}

}  // namespace longspan::tool
