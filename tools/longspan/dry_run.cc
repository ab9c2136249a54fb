#include "dry_run.h"

#include "interrupt.h"
#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/table.h"
#include "longspan/train/estimate.h"
#include "output.h"
#include "progress.h"

namespace longspan::tool {

namespace {

constexpr double kGiga = 1e9;

Json to_json(const train::Estimate& estimate, int64_t processes) {
  Json probes = Json::array();
  for (const train::Probe& probe : estimate.probes)
    probes.push_back({{"layers", probe.layers},
                      {"batch", probe.batch},
                      {"length", probe.length},
                      {"seconds", probe.seconds},
                      {"tensor_bytes", probe.tensor_bytes},
                      {"parameters", probe.parameters}});
  return {{"event", "dry_run"},
          {"processes", processes},
          {"parameters", estimate.parameters},
          {"peak_bytes", estimate.peak_bytes()},
          {"weight_bytes", estimate.weight_bytes},
          {"activation_bytes", estimate.activation_bytes},
          {"program_bytes", estimate.program_bytes},
          {"state_bytes", estimate.state_bytes},
          {"step_seconds", estimate.step_seconds},
          {"run_seconds", estimate.run_seconds},
          {"checkpoint_bytes", estimate.checkpoint_bytes},
          {"disk_bytes", estimate.disk_bytes},
          {"flops",
           {{"projections", estimate.flops.projections},
            {"attention", estimate.flops.attention},
            {"feed_forward", estimate.flops.feed_forward},
            {"head", estimate.flops.head}}},
          {"probes", probes}};
}

std::string seconds(double value) {
  return value < 60 ? report::significant(value, 3) + " s" : report::duration(value);
}

std::string to_text(const train::Estimate& estimate, const train::TrainOptions& options, int64_t processes) {
  const auto giga = [](double flops) { return report::significant(flops / kGiga, 3) + " GFLOP"; };
  const double tokens = static_cast<double>(options.batch) * static_cast<double>(options.length);
  report::Table table;
  table.columns = {{"what"}, {"how much", true}, {"of which"}};
  table.rows = {
      {"parameters", report::grouped(estimate.parameters), ""},
      {processes > 1 ? str_cat("peak memory of each of ", processes, " processes") : "peak memory",
       report::bytes(estimate.peak_bytes()),
       str_cat("weights, gradients, moments ", report::bytes(estimate.weight_bytes), "; activations ",
               report::bytes(estimate.activation_bytes), "; program and work space ",
               report::bytes(estimate.program_bytes))},
      {"state of a stream", report::bytes(estimate.state_bytes), str_cat("after ", options.length, " tokens")},
      {"work of a step", giga(estimate.flops.total()),
       str_cat("projections ", giga(estimate.flops.projections), "; attention ", giga(estimate.flops.attention),
               "; feed-forward ", giga(estimate.flops.feed_forward), "; head ", giga(estimate.flops.head))},
      {"time of a step", seconds(estimate.step_seconds),
       str_cat(report::grouped(static_cast<int64_t>(tokens / estimate.step_seconds)), " tokens/s")},
      {"time of the run", seconds(estimate.run_seconds), str_cat(options.steps, " steps, with validation")},
      {"disk space", report::bytes(estimate.disk_bytes),
       str_cat("a checkpoint ", report::bytes(estimate.checkpoint_bytes))}};
  std::string text = report::to_text(table) + "\nFrom steps measured on this machine, now:\n";
  report::Table probes;
  probes.columns = {
      {"layers", true}, {"batch", true}, {"length", true}, {"seconds", true}, {"memory of tensors", true}};
  for (const train::Probe& probe : estimate.probes)
    probes.rows.push_back({std::to_string(probe.layers), std::to_string(probe.batch), std::to_string(probe.length),
                           report::significant(probe.seconds, 3),
                           report::bytes(static_cast<double>(probe.tensor_bytes))});
  return text + report::to_text(probes);
}

}  // namespace

void print_dry_run(const RunConfig& config, const train::TrainData& data, int64_t processes,
                   const CommonOptions& common) {
  ProgressLine line("dry run", train::kEstimateSteps, common.quiet);
  int64_t done = 0;
  const train::Estimate estimate = train::estimate_run(config.model, data, config.train, processes, [&] {
    stop_if_interrupted();
    line.update(done++, "measurements");
  });
  line.finish();
  if (common.json)
    print_json(to_json(estimate, processes));
  else
    print_text(to_text(estimate, config.train, processes));
}

}  // namespace longspan::tool
