#include "page.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

void add_scores(report::HtmlPage& page, const DocumentPlan& plan, const DocumentResults& results) {
  page.heading("What was learned");
  int64_t fewest = 0;
  for (const DocumentTask& task : plan.tasks)
    if (const DocumentData* data = data_of(results, task.name)) {
      const int64_t documents = independent_documents(task, *data);
      if (fewest == 0 || documents < fewest) fewest = documents;
    }
  page.table(
      score_table(plan, results),
      str_cat("Right answers on documents that nothing was trained on",
              plan.seeds.size() > 1 ? str_cat(", means of ", plan.seeds.size(), " seeds (lowest to highest)") : "",
              ". With ", report::grouped(fewest),
              " independent test documents, as the smallest task has, a score of 50 % is known to ",
              report::fixed(100 * sampling_error(0.5, fewest), 1),
              " percentage points. The rows below the attentions say what can be had without one."));
  for (const DocumentTask& task : plan.tasks) {
    page.paragraph(task.about);
    page.paragraph(task_sentence(plan, results, task));
  }
}

void add_training(report::HtmlPage& page, const DocumentPlan& plan, const DocumentResults& results) {
  page.heading("How it was learned");
  std::vector<report::Panel> panels;
  for (const DocumentTask& task : plan.tasks) panels.push_back({learning_chart(plan, results, task), ""});
  page.charts(panels);
  for (const DocumentTask& task : plan.tasks)
    if (!task.from.empty())
      page.paragraph(str_cat("The encoders of '", task.title, "' went on from what the task before had taught them."));
  page.folded("Parameters and time of every training", document_training_table(plan, results));
}

void add_costs(report::HtmlPage& page, const DocumentPlan& plan, const DocumentResults& results) {
  if (results.costs.empty()) return;
  page.heading("What a step costs");
  page.table(
      step_table(plan, results),
      "Forward and backward pass and optimizer step of the whole encoder on one sequence, in float32; in brackets how "
      "many times as fast as softmax.");
  bool memory = false;
  for (const DocumentCost& cost : results.costs) memory = memory || cost.bytes.has_value();
  std::vector<report::Panel> panels = {{step_chart(plan, results, false), "Lower is better."}};
  if (memory) panels.push_back({step_chart(plan, results, true), "Peak over one step."});
  page.charts(panels);
}

void add_data(report::HtmlPage& page, const DocumentPlan& plan, const DocumentResults& results) {
  page.heading("The documents");
  page.table(data_table(plan, results), "Documents by split; no chapter and no manual page is in two splits.");
  for (const DocumentTask& task : plan.tasks)
    if (const DocumentData* data = data_of(results, task.name); data && data->least_between)
      page.paragraph(str_cat("'", task.title, "': at least ", report::grouped(*data->least_between),
                             " tokens stand between the first passage and the last, in every document."));
  report::Table sources;
  sources.columns = {{"source"}, {"version"}, {"licence"}};
  for (const Json& source : results.sources) {
    const std::string package = source.value("package", ""), text = source.value("text", "");
    sources.rows.push_back({text.empty() ? package : str_cat(text, " (", package, ")"), source.value("version", ""),
                            source.value("licence", "")});
  }
  if (!sources.rows.empty()) page.table(sources, "The Debian packages that the documents were made from.");
}

}  // namespace

report::HtmlPage document_page(const DocumentPlan& plan, const DocumentResults& results) {
  report::HtmlPage page("longspan demo: long documents");
  std::vector<std::string> labels;
  for (const DocumentContender& contender : plan.contenders) labels.push_back(contender.label);
  page.lead(str_cat("Encoders of ", plan.layers, " layers of width ", plan.width,
                    ", equal in parameters but for what an attention has of its own, learned from the same long "
                    "documents in equal steps: ",
                    report::join(labels, ", "), "."));
  if (!plan.full)
    page.paragraph(
        "This is the small setting of a few minutes for each task: it shows what works, not how good a method can be "
        "made. FULL=1 takes three seeds, more tasks and more steps.");
  add_scores(page, plan, results);
  add_training(page, plan, results);
  add_costs(page, plan, results);
  add_data(page, plan, results);
  page.heading("Machine and command");
  auto machine = facts(results.environment);
  machine.emplace_back("Time", report::duration(results.seconds) + " for everything on this page");
  page.facts(machine);
  page.preformatted(shell_line(results.command));
  return page;
}

}  // namespace longspan::tool
