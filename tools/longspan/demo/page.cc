#include "page.h"

#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"

namespace longspan::tool {

namespace {

using report::fixed;
using report::length_label;

report::LineChart quality_chart(const DemoPlan& plan, const DemoResults& results) {
  report::LineChart chart;
  chart.title = "Held-out text, with more context";
  chart.x_label = "tokens of context";
  chart.y_label = "bits per byte";
  chart.x_log = chart.x_lengths = true;
  for (const Contender& contender : plan.contenders) {
    report::Series series;
    series.name = contender.label;
    for (const int64_t length : plan.lengths)
      if (const auto cell = quality(results, contender.attention, length))
        series.points.emplace_back(length, cell->mean);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

report::LineChart training_chart(const DemoPlan& plan, const DemoResults& results) {
  report::LineChart chart;
  chart.title = "Training";
  chart.x_label = "thousand tokens seen";
  chart.y_label = "bits per byte of training windows";
  for (const Contender& contender : plan.contenders)
    for (const TrainingResult& t : results.trainings)
      if (t.attention == contender.attention && t.seed == plan.seeds.front()) {
        report::Series series;
        series.name = contender.label;
        for (const auto& [tokens, bits] : t.curve) series.points.emplace_back(tokens / 1000, bits);
        chart.series.push_back(std::move(series));
      }
  return chart;
}

report::LineChart forward_chart(const DemoPlan& plan, const DemoResults& results) {
  report::LineChart chart;
  chart.title = "Time of the operator, forward";
  chart.x_label = "tokens";
  chart.y_label = "microseconds per token";
  chart.x_log = chart.y_log = chart.x_lengths = true;
  for (const Contender& contender : plan.contenders) {
    report::Series series;
    series.name = contender.label;
    for (const SpeedResult& s : results.forward_speed)
      if (s.attention == contender.attention) series.points.emplace_back(s.length, s.us_per_token);
    if (contender.attention == "softmax") {
      series.name = "softmax";
      series.extrapolated = extrapolated_softmax(results);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

report::LineChart speedup_chart(const DemoPlan& plan, const DemoResults& results) {
  report::LineChart chart;
  chart.title = "Forward + backward against softmax";
  chart.x_label = "tokens";
  chart.y_label = "times as fast";
  chart.x_log = chart.y_log = chart.x_lengths = true;
  for (const Contender& contender : plan.contenders) {
    report::Series series;
    series.name = contender.label;
    for (const int64_t length : plan.training_speed_lengths)
      if (const auto ratio = training_speedup(results, contender.attention, length);
          ratio && contender.attention != "softmax")
        series.points.emplace_back(length, *ratio);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string setting_paragraph(const DemoPlan& plan, const DemoResults& results) {
  const models::ModelConfig& model = plan.contenders.front().model;
  return str_cat("Three byte-level language models of ", model.layers, " layers of width ", model.width, " with ",
                 model.heads,
                 " heads, equal in parameters up to a rounding (the feed-forward part of the models without a basis is "
                 "a little wider), were trained on the "
                 "same ",
                 report::grouped(results.trainings.empty() ? 0 : results.trainings.front().tokens),
                 " tokens each, in windows of ", length_label(plan.train.length), ", out of ",
                 report::grouped(results.train_bytes), " bytes. They were then measured on ", results.text, " (",
                 report::grouped(results.held_out_bytes), " bytes), which none of them has seen.");
}

std::string machine_sentence(const DemoResults& results) {
  return str_cat("Measured with ", results.threads, results.threads == 1 ? " thread" : " threads", " and ",
                 results.simd, " kernels on a machine whose 2048 x 2048 float32 matrix product runs at ",
                 report::significant(results.matmul_gflops, 3), " GFLOP/s; the whole run took ",
                 report::duration(results.seconds), ".");
}

void section(report::HtmlPage& page, const std::string& sentence) {
  if (!sentence.empty()) page.paragraph(sentence);
}

}  // namespace

std::string compressor_sentence(const DemoPlan& plan, const DemoResults& results) {
  if (results.compressors.empty() || plan.lengths.empty()) return "";
  std::string text;
  for (const auto& [name, rate] : results.compressors)
    text += (text.empty() ? "" : " and ") + name + " " + fixed(rate, 3);
  text = "For scale: " + text + " bits per byte on the held-out text (compressors have seen no training text).";
  double best = 1e9;
  for (const auto& [name, rate] : results.compressors) best = std::min(best, rate);
  std::string below, above;
  for (const Contender& contender : plan.contenders)
    if (const auto cell = quality(results, contender.attention, plan.lengths.front())) {
      std::string& list = cell->mean < best ? below : above;
      list += (list.empty() ? "" : ", ") + contender.label;
    }
  const std::string at = " with " + length_label(plan.lengths.front()) + " tokens of context";
  if (!below.empty()) text += " Below that" + at + ": " + below + ".";
  if (!above.empty()) text += " Not below: " + above + ".";
  return text;
}

std::string context_sentence(const DemoPlan& plan, const DemoResults& results, const Contender& contender) {
  if (plan.lengths.size() < 2) return "";
  const int64_t first = plan.lengths.front(), last = plan.lengths.back();
  const auto high = quality(results, contender.attention, last);
  // Where the longest context was measured on fewer blocks, the shortest is compared on just those.
  const auto before = quality_on_blocks_of(results, {contender.attention, first}, {contender.attention, last});
  if (!high || !before) return "";
  const double change = high->mean - *before;
  std::string text =
      str_cat(contender.label, ": from ", length_label(first), " to ", length_label(last),
              " tokens of context bits per byte go from ", fixed(*before, 3), " to ", fixed(high->mean, 3));
  if (high->blocks < plan.blocks) text += str_cat(" (on ", high->blocks, high->blocks == 1 ? " block)" : " blocks)");
  if (std::abs(change) < kMeaningful) return text + ": flat.";
  if (change < 0) return text + ": more context helps.";
  return text + (change > 0.5 ? ": it collapses beyond its training length." : ": it gets worse.");
}

std::string memory_sentence(const DemoPlan& plan, const DemoResults& results) {
  double largest = 0;
  bool any = false;
  for (const AblationResult& a : results.ablations) {
    const double effect = *ablation_effect(results, a.way, a.length);
    if (!any || std::abs(effect) > std::abs(largest)) largest = effect;
    any = true;
  }
  if (!any) return "";
  std::string text =
      str_cat("Evaluating the trained LAVO with its memory branch changed moves bits per byte by at most ",
              fixed(std::abs(largest), 4), ".");
  if (std::abs(largest) < kMeaningful)
    text += str_cat(" That is below the ", fixed(kMeaningful, 2),
                    " under which differences mean nothing with one seed: in this run nothing shows that the memory "
                    "contributed to the quality.");
  else if (largest > 0)
    text +=
        str_cat(" The memory contributed in this run", plan.seeds.size() > 1 ? "." : ", as far as one seed can tell.");
  else
    text += " The change made the model better: the memory did harm in this run.";
  return text;
}

std::string local_sentence(const DemoPlan& plan, const DemoResults& results) {
  if (plan.lengths.empty()) return "";
  const auto lavo = quality(results, "lavo", plan.lengths.front()),
             local = quality(results, "local", plan.lengths.front());
  if (!lavo || !local) return "";
  const double difference = lavo->mean - local->mean;
  std::string text = str_cat("At ", length_label(plan.lengths.front()), " tokens LAVO stands at ", fixed(lavo->mean, 3),
                             " and the local window alone at ", fixed(local->mean, 3));
  if (std::abs(difference) < kMeaningful) return text + ": no difference that means anything with so few seeds.";
  return text + str_cat(": LAVO is ", fixed(std::abs(difference), 3), difference < 0 ? " better." : " worse.");
}

std::string speed_sentence(const DemoPlan& plan, const DemoResults& results) {
  if (plan.training_speed_lengths.empty()) return "";
  const int64_t longest = plan.training_speed_lengths.back();
  const auto ratio = training_speedup(results, "lavo", longest);
  if (!ratio) return "";
  std::string text =
      str_cat("At ", length_label(longest), " tokens LAVO's forward and backward pass takes ", fixed(100 / *ratio, 0),
              " % of the time of causal softmax (", plan.speed_heads, " heads of ", plan.speed_head_dim,
              ", r = w = ", plan.speed_window, ", float32, operators alone, taking turns).");
  const auto own = growth(results.forward_speed, "lavo", 4096);
  const auto peer = growth(results.forward_speed, "softmax", 4096);
  if (own) text += str_cat(" The forward time grows as n to the power ", fixed(*own, 2), " from 4K on");
  if (own && peer) text += str_cat(", softmax's as n to the power ", fixed(*peer, 2));
  return own ? text + "." : text;
}

std::string state_sentence(const DemoResults& results) {
  const auto lavo = results.state_bytes.find("lavo"), softmax = results.state_bytes.find("softmax");
  if (lavo == results.state_bytes.end() || softmax == results.state_bytes.end() || lavo->second.empty() ||
      softmax->second.empty())
    return "";
  return str_cat("To go on reading after ", length_label(lavo->second.rbegin()->first),
                 " tokens the trained LAVO model keeps ", report::bytes(lavo->second.rbegin()->second), " of state (",
                 report::bytes(lavo->second.begin()->second), " after ", length_label(lavo->second.begin()->first),
                 "); softmax keeps ", report::bytes(softmax->second.rbegin()->second), ".");
}

report::HtmlPage demo_page(const DemoPlan& plan, const DemoResults& results) {
  report::HtmlPage page("longspan demo: attention far beyond the training length");
  page.paragraph(setting_paragraph(plan, results));

  page.heading("Quality with more context");
  page.table(quality_table(plan, results),
             str_cat("Bits per byte (lower is better) of the same target bytes, ", plan.blocks,
                     " blocks of 1,024 unless the cell says otherwise, with the number of tokens "
                     "of context in the column's title, targets included.",
                     plan.seeds.size() > 1 ? " Mean over seeds (lowest to highest)." : ""));
  page.chart(quality_chart(plan, results), str_cat("Trained at ", length_label(plan.train.length), "."));
  for (const Contender& contender : plan.contenders) section(page, context_sentence(plan, results, contender));
  section(page, compressor_sentence(plan, results));
  if (const int64_t last = plan.lengths.empty() ? 0 : plan.lengths.back();
      plan.block_limits.contains({"softmax", last}))
    if (const auto same = quality_on_blocks_of(results, {"lavo", last}, {"softmax", last}))
      page.paragraph(str_cat("On just the blocks that softmax was measured on at ", length_label(last),
                             ", LAVO stands at ", fixed(*same, 3), "."));

  page.heading("Does the memory matter?");
  page.table(
      memory_table(plan, results),
      "Change of LAVO's bits per byte when the memory branch of the trained model is changed, by tokens of context.");
  section(page, memory_sentence(plan, results));
  section(page, local_sentence(plan, results));

  page.heading("Cost");
  page.table(speed_table(plan, results),
             "Forward and backward pass of the operators, time of causal softmax divided by the attention's, by number "
             "of tokens.");
  section(page, speed_sentence(plan, results));
  section(page, state_sentence(results));
  page.chart(speedup_chart(plan, results));
  page.chart(forward_chart(plan, results),
             extrapolated_softmax(results).empty()
                 ? ""
                 : "Dashed: not measured, continued as a straight line in n from the two longest lengths measured.");

  page.heading("Training");
  page.table(training_table(plan, results));
  page.chart(training_chart(plan, results));

  if (!results.sample.empty()) {
    page.heading("A sample");
    page.paragraph("The held-out text begins like this:");
    page.preformatted(results.sample_prompt);
    page.paragraph("The LAVO model goes on (temperature 0.8):");
    page.preformatted(results.sample);
  }
  page.paragraph(machine_sentence(results));
  return page;
}

}  // namespace longspan::tool
