#include "run_page.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include "environment.h"
#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "sample_text.h"

namespace longspan::tool {

report::TrainingRun run_page(const std::string& folder, const std::vector<std::string>& command, const Dataset& dataset,
                             train::Trainer& trainer) {
  const models::ModelConfig& config = trainer.model().config();
  const SplitInfo& info = dataset.info("train");
  report::TrainingRun page;
  page.name = folder;
  page.step = trainer.steps_done();
  page.steps = trainer.options().steps;
  page.facts = {{"Model", str_cat(config.attention, ", ", config.layers, " layers of width ", config.width, ", ",
                                  config.heads, " heads")},
                {"Parameters", report::grouped(trainer.model().parameter_count())}};
  page.sessions = {{page.step, shell_line(command),
                    str_cat(dataset.folder(), ": ", report::grouped(info.tokens), " tokens of ",
                            report::grouped(info.source_bytes), " bytes to train on")}};
  page.machine = facts(this_environment(at::get_num_threads(), TORCH_VERSION));
  page.options = {{"model", models::to_json(config)}, {"train", train::to_json(trainer.options())}};
  std::vector<std::string> on = {"longspan", "train", dataset.folder(), "--out", folder, "--resume"};
  page.resume = shell_line(on);
  on.insert(on.end(), {"--steps", std::to_string(2 * page.steps)});
  page.extend = shell_line(on);
  page.commands = {{"To measure it with more context", shell_line({"longspan", "eval", folder, "--data",
                                                                   dataset.folder(), "--lengths", "1024,4096,16384"})}};
  return page;
}

void finish_run_page(RunRecorder& recorder, train::Trainer& trainer, const Dataset& dataset, double seconds) {
  if (!trainer.done()) return recorder.finish(report::TrainingRun::Status::stopped);
  constexpr int64_t kSampleTokens = 300;
  trainer.model().eval();
  const SampleText sample = sample_text(trainer.model(), dataset.split(dataset.has("valid") ? "valid" : "train"),
                                        dataset.tokenizer(), kSampleTokens, seconds);
  recorder.finish(report::TrainingRun::Status::done, sample.prompt, sample.text);
}

}  // namespace longspan::tool
