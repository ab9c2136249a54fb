#include "tools/longspan/study/text_page.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

report::LineChart learning_chart(const TextStudy& study, const StudyPanel& panel) {
  report::LineChart chart;
  chart.title = panel.title + ", training";
  chart.x_label = "steps";
  chart.y_label = "bits per byte";
  chart.y_log = true;
  for (const std::string& name : panel.names)
    if (const TextVariant* variant = find_models(study.variants, name); variant && !variant->runs.empty())
      chart.series.push_back({name, variant->runs.front().curve});
  return chart;
}

}  // namespace

report::LineChart length_chart(const TextStudy& study, const StudyPanel& panel) {
  report::LineChart chart;
  chart.title = panel.title;
  chart.x_label = "tokens of context";
  chart.y_label = "bits per byte";
  chart.x_log = chart.x_lengths = true;
  for (const std::string& name : panel.names) {
    const TextVariant* variant = find_models(study.variants, name);
    if (!variant) continue;
    report::Series series{name};
    for (const int64_t length : study.lengths)
      if (const auto bits = mean_bits(*variant, length);
          bits && blocks_at(variant->runs.front(), length) == study.blocks) {
        const auto x = static_cast<double>(length);
        series.points.emplace_back(x, bits->mean);
        if (bits->seeds > 1) series.band.push_back({x, bits->mean - bits->error, bits->mean + bits->error});
      }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

report::HtmlPage text_page(const TextStudy& study) {
  report::HtmlPage page(study.title);
  page.lead(text_sentence(study));
  std::vector<std::string> documents;
  for (const TextDocument& document : study.held_out)
    documents.push_back(str_cat(document.name, " (", report::grouped(document.bytes), " bytes)"));
  page.paragraph(str_cat("Byte models, each trained by itself on the same windows of ",
                         report::length_label(study.train_length), " out of ", report::grouped(study.train_bytes),
                         " bytes, then measured on whole documents that none has seen: ", report::join(documents, ", "),
                         ". The inner width of the feed-forward part is chosen so that "
                         "parameters agree: they do within ",
                         report::fixed(100 * parameter_spread(study), 2), " %."));
  page.heading("Bits per byte with more context");
  std::vector<report::Panel> charts, curves;
  for (const StudyPanel& panel : study.panels) {
    charts.push_back({length_chart(study, panel), panel.about});
    curves.push_back({learning_chart(study, panel), ""});
  }
  if (!charts.empty() && charts.front().caption.empty())
    charts.front().caption = "Bands: one standard error to either side. Points measured on fewer blocks are left out.";
  page.charts(charts);
  const bool seeds = !study.variants.empty() && study.variants.front().runs.size() > 1;
  page.table(bits_table(study), str_cat("The same ", study.blocks,
                                        " blocks of 1,024 bytes at every length, unless the cell says otherwise; ",
                                        seeds ? "mean ± standard error over seeds." : "one seed."));
  page.table(difference_table(study),
             "Difference to the window alone of the same width, on the same blocks: what a memory is worth to a model "
             "that could also have been trained without one. Less than 0: better. Left out where fewer blocks were "
             "measured.");
  page.heading("Models and training");
  page.table(models_table(study), str_cat("State: of the whole model behind ",
                                          report::length_label(study.lengths.empty() ? 0 : study.lengths.back()),
                                          " tokens. Validation: bits per byte at the length of training."));
  page.charts(curves);
  if (const auto search = search_table(study.variants, "bits per byte"); !search.rows.empty())
    page.table(search, "What was tried for each memory, with the first seed, on the validation split.");
  add_conditions(page, study.conditions);
  return page;
}

}  // namespace longspan::tool
