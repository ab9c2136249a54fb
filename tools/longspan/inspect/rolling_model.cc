#include "tools/longspan/inspect/rolling_model.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>

#include "longspan/base/check.h"
#include "longspan/io/atomic_file.h"
#include "longspan/models/encoder_files.h"
#include "longspan/report/chart_file.h"
#include "longspan/report/format.h"
#include "longspan/tasks/rolling.h"
#include "rolling_view.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/output.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/task/examples.h"
#include "tools/longspan/task/model_folder.h"

namespace longspan::tool {

namespace {

using models::RolledFeature;
using models::RolledPositions;

const std::map<std::string, RolledPositions> kPositions = {{"slot", RolledPositions::slot},
                                                           {"token", RolledPositions::token}};
const std::map<std::string, RolledFeature> kFeatures = {{"token", RolledFeature::token}, {"slot", RolledFeature::slot}};

int64_t longest(const tasks::ExampleSet& set) {
  std::size_t out = 1;
  for (const tasks::Example& example : set.examples)
    for (const tasks::Sequence& window : example.windows) out = std::max(out, window.tokens.size());
  return static_cast<int64_t>(out);
}

}  // namespace

std::vector<int64_t> shifts_of(const std::string& given, int64_t ring) {
  if (given.empty()) return nn::rolling_shifts(ring);
  std::vector<int64_t> out;
  for (std::size_t begin = 0; begin <= given.size();) {
    const std::size_t end = std::min(given.find(',', begin), given.size());
    int64_t shift = 0;
    const auto result = std::from_chars(given.data() + begin, given.data() + end, shift);
    LONGSPAN_CHECK(result.ec == std::errc() && result.ptr == given.data() + end && shift >= 0 && shift < ring,
                   "--shifts: expected numbers from 0 to ", ring - 1,
                   " with commas between, less than the tokens that are rolled, got '", given, "'");
    LONGSPAN_CHECK(std::find(out.begin(), out.end(), shift) == out.end(), "--shifts: expected each number once, got ",
                   shift, " twice");
    out.push_back(shift);
    begin = end + 1;
  }
  return out;
}

std::vector<CLI::Option*> add_rolling_model_flags(CLI::App& app, RollingModelOptions& options) {
  std::vector<CLI::Option*> flags;
  const auto flag = [&](const char* name, auto& value, const std::string& help) {
    return flags.emplace_back(app.add_option(name, value, help));
  };
  flag("--data", options.data, std::string("MODEL: examples of its task, ") + kExampleFiles);
  flag("--positions", options.positions,
       "MODEL: position of a token that was moved, slot (that of the place where it stands) or token (its own) "
       "(default: "
       "slot)")
      ->check(CLI::IsMember(kPositions));
  flag("--feature-at", options.feature,
       "MODEL: what a classification by the first token looks at, token (that one, wherever it stands) or slot (the "
       "first place) (default: token)")
      ->check(CLI::IsMember(kFeatures));
  flag(
      "--slots", options.slots,
      "MODEL: places in the ring that a sequence is rolled round, padding in those that it does not fill (default: its "
      "own)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  flag("--examples", options.examples, "MODEL: how many are read, spread evenly (default: all)")
      ->check(CLI::Range(1, 1 << 30));
  flags.push_back(app.add_flag("--unlabelled", options.unlabelled,
                               "MODEL: the examples have no labels or answers, nothing is measured by them"));
  flags.push_back(app.add_flag("--latest", options.latest, std::string("MODEL: ") + kLatestHelp));
  const std::size_t before = app.get_options().size();
  options.reading.add(app, /*best=*/false);
  const std::vector<CLI::Option*> all = app.get_options();
  flags.insert(flags.end(), all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  options.records.add(app);
  return flags;
}

void inspect_rolling_model(const RollingModelOptions& options, const std::string& shifts, nn::PatternRoll roll,
                           const std::string& roll_pattern, const std::string& svg, const CommonOptions& common) {
  LONGSPAN_CHECK(!options.data.empty(), "inspect rolling: a model needs --data, examples of its task");
  const std::string folder = model_to_read(options.model, options.latest);
  const models::LoadedEncoder loaded = models::load_encoder(folder);
  models::EncoderModel& model = *loaded.model;
  const models::HeadConfig& head = model.head_config();
  RecordOptions records = options.records.options(options.data);
  records.read_answers = !options.unlabelled;
  tasks::ExampleSet set = read_task_examples("--data", records, options.reading.sequences(loaded), common.quiet);
  if (!options.unlabelled) tasks::number_labels(set, head.labels);

  const tasks::TaskOptions trained = trained_options(loaded);
  tasks::RollingOptions how;
  how.how.rolling.slots = options.slots;
  how.how.positions = kPositions.at(options.positions);
  how.how.feature = kFeatures.at(options.feature);
  how.how.pattern = roll;
  how.evaluate.masking = trained.masking;
  how.evaluate.seed = common.seed.value_or(static_cast<uint64_t>(trained.train.seed));
  how.evaluate.examples = options.examples;
  how.evaluate.answers = options.reading.answers(loaded);
  // Hidden tokens are labels that every text has.
  how.labelled = !options.unlabelled || head.kind == models::HeadKind::masked_language;

  RolledModelLook look;
  look.model = folder;
  look.kind = to_string(head.kind);
  look.attention = model.encoder_config().attention;
  look.positions = options.positions;
  look.feature = options.feature;
  look.roll_pattern = roll_pattern;
  look.slots = options.slots;
  look.longest = longest(set);
  const int64_t ring = options.slots > 0 ? options.slots : look.longest;
  ProgressLine progress("inspect", 0, common.quiet);
  const auto rolled =
      tasks::evaluate_rolled(model, set, shifts_of(shifts, ring), how, [&](int64_t done, int64_t total) {
        stop_if_interrupted();
        progress.set_total(total);
        progress.update(done, "examples");
        look.examples = total;
      });
  progress.finish();
  for (const tasks::RolledEvaluation& each : rolled) {
    look.tokens = each.evaluation.tokens;
    look.rows.push_back({each.shift, each.hidden_change, each.head_change});
    if (!how.labelled) continue;
    if (each.evaluation.targets > 0) look.rows.back().loss = each.evaluation.loss;
    look.rows.back().metrics = each.evaluation.metrics;
  }

  if (!svg.empty()) write_file(svg, report::to_svg_file(rolling_chart(look)));
  if (!common.json) {
    print_text(str_cat(look.model, ": ", look.kind, " with ", look.attention, ", ", report::grouped(look.examples),
                       " examples of ", report::grouped(look.tokens), " tokens, rolled round ",
                       look.slots > 0 ? report::grouped(look.slots) + " slots" : std::string("their own length"), "\n",
                       report::indent(report::to_text(rolling_table(look)), 2)));
    return;
  }
  for (const Json& object : to_json(look)) print_json(object);
}

}  // namespace longspan::tool
