#include "longspan/report/training_page.h"

#include <algorithm>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/options_table.h"

namespace longspan::report {

namespace {

std::string progress(const TrainingRun& run) { return str_cat("step ", grouped(run.step), " of ", grouped(run.steps)); }

std::string from_checkpoint(const TrainingRun& run) {
  return run.checkpoint > 0 ? str_cat("--resume goes on from the checkpoint of step ", grouped(run.checkpoint), ".")
                            : "There is no checkpoint yet.";
}

std::string status_sentence(const TrainingRun& run) {
  switch (run.status) {
    case TrainingRun::Status::running:
      return str_cat(
          "Running when this page was written: ", progress(run), " (",
          fixed(100 * static_cast<double>(run.step) / static_cast<double>(std::max<int64_t>(run.steps, 1)), 0), " %)",
          run.seconds_left > 0 ? ", about " + duration(run.seconds_left) + " left" : "", ".");
    case TrainingRun::Status::done:
      return str_cat("Finished: ", grouped(run.steps), " steps.");
    case TrainingRun::Status::stopped:
      return str_cat("Stopped after ", progress(run), ". ", from_checkpoint(run));
    case TrainingRun::Status::failed:
      return str_cat("Ended by an error after ", progress(run), ". ", from_checkpoint(run));
  }
  return "";
}

std::string loss_sentence(const TrainingRun& run) {
  if (run.loss.bins().empty()) return "";
  const Binned::Bin& last = run.loss.bins().back();
  std::string text = str_cat("Training stands at ", fixed(last.mean, 3), " ", run.loss_unit,
                             last.count > 1 ? str_cat(" (mean of the last ", last.count, " steps)") : "");
  if (run.validation.empty()) return text + ".";
  const auto best = std::min_element(run.validation.begin(), run.validation.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  text += str_cat(", validation at ", fixed(run.validation.back().second, 3));
  if (best->second < run.validation.back().second)
    text += str_cat("; its best was ", fixed(best->second, 3), " at step ", grouped(static_cast<int64_t>(best->first)));
  return text + ".";
}

LineChart chart_of(const TrainingRun& run, const char* title, const std::string& y_label, const Binned& values) {
  LineChart chart;
  chart.title = title;
  chart.x_label = "optimizer steps";
  chart.y_label = y_label;
  chart.series = {series_of("", values)};
  for (const TrainingSession& session : run.sessions)
    if (session.step > 0) chart.x_marks.push_back({static_cast<double>(session.step), "resumed"});
  return chart;
}

LineChart loss_chart(const TrainingRun& run) {
  LineChart chart = chart_of(run, "Loss", run.loss_unit, run.loss);
  chart.y_log = true;
  chart.series[0].name = "training";
  if (!run.validation.empty()) chart.series.push_back({"validation", run.validation});
  return chart;
}

std::string loss_caption(const TrainingRun& run) {
  const int64_t samples = run.loss.samples_per_bin();
  if (samples == 1) return "Every step of training; lower is better.";
  return str_cat("Means of ", samples,
                 " steps of training each, with one standard deviation of a single step to either "
                 "side: different texts are not equally hard. Lower is better.");
}

/// "" for what held from the beginning on, else " from step 300 on".
std::string since(int64_t step) { return step > 0 ? str_cat(" from step ", grouped(step), " on") : ""; }

/// Each data of the run with the step from which they were trained on.
std::vector<std::pair<std::string, std::string>> data_facts(const TrainingRun& run) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const TrainingSession& session : run.sessions)
    if (!session.data.empty() && (out.empty() || out.back().second != session.data))
      out.emplace_back("Data" + since(session.step), session.data);
  return out;
}

std::vector<std::pair<std::string, std::string>> all_commands(const TrainingRun& run) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const TrainingSession& session : run.sessions)
    if (!session.command.empty()) out.emplace_back("This run" + since(session.step), session.command);
  if (run.status == TrainingRun::Status::done)
    out.emplace_back("To train it further", run.extend);
  else
    out.emplace_back("To go on with it", run.resume);
  out.insert(out.end(), run.commands.begin(), run.commands.end());
  std::erase_if(out, [](const auto& entry) { return entry.second.empty(); });
  return out;
}

}  // namespace

HtmlPage training_page(const TrainingRun& run) {
  HtmlPage page("Training run: " + run.name);
  const bool running = run.status == TrainingRun::Status::running;
  if (running) page.refresh_every(kRefreshSeconds);
  page.lead(status_sentence(run) + " " + loss_sentence(run));
  page.paragraph(str_cat("Written ", run.written,
                         running ? str_cat("; a browser loads it again every ", kRefreshSeconds,
                                           " seconds. When this time no longer changes, the run has ended without a "
                                           "word, as by kill -9 or a power cut. ",
                                           from_checkpoint(run))
                                 : "."));
  page.chart(loss_chart(run), loss_caption(run));
  LineChart norm = chart_of(run, "Gradient norm", "norm before clipping", run.gradient_norm);
  norm.y_log = true;
  page.charts({{chart_of(run, "Learning rate", "learning rate", run.learning_rate)},
               {norm},
               {chart_of(run, "Speed", "tokens per second", run.tokens_per_second)}});

  page.heading("Model and data");
  auto facts = run.facts;
  const auto data = data_facts(run);
  facts.insert(facts.end(), data.begin(), data.end());
  page.facts(facts);
  page.folded("Complete configuration", options_table({{"value", run.options}}));
  if (!run.sample.empty()) {
    page.heading("A sample");
    page.paragraph("The text begins like this:");
    page.preformatted(run.prompt);
    page.paragraph("The model goes on:");
    page.preformatted(run.sample);
  }
  page.heading("Machine and versions");
  page.facts(run.machine);
  page.heading("Commands");
  for (const auto& [purpose, command] : all_commands(run)) {
    page.paragraph(purpose + ":");
    page.preformatted(command);
  }
  return page;
}

}  // namespace longspan::report
