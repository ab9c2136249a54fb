#include "page.h"

#include "charts.h"
#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "longspan/report/options_table.h"
#include "memory_page.h"
#include "recall_panel.h"

namespace longspan::tool {

namespace {

using report::length_label;

std::string setting_paragraph(const DemoPlan& plan, const DemoResults& results) {
  const models::ModelConfig& model = plan.contenders.front().model;
  return str_cat(
      "Three byte-level language models of ", model.layers, " layers of width ", model.width, " with ", model.heads,
      " heads, equal in parameters up to a rounding (the feed-forward part of the models without a basis is "
      "a little wider), were trained on the same ",
      report::grouped(results.trainings.empty() ? 0 : results.trainings.front().tokens), " tokens each, in windows of ",
      length_label(plan.train.length), ", out of ", report::grouped(results.train_bytes),
      " bytes. They were then measured on ", results.text, " (", report::grouped(results.held_out_bytes),
      " bytes), which none of them has seen. Every number on this page was measured in that one run.");
}

void add_quality(report::HtmlPage& page, const DemoPlan& plan, const DemoResults& results) {
  const bool seeds = plan.seeds.size() > 1;
  page.heading("Quality with more context");
  page.chart(quality_chart(plan, results),
             str_cat("Trained at ", length_label(plan.train.length),
                     "; a line that stays down reads far beyond its training length.",
                     seeds ? " Bands: from the lowest to the highest seed." : "",
                     results.compressors.empty() ? "" : " Dotted: general compressors on the same text."));
  page.table(quality_table(plan, results),
             str_cat("Bits per byte (lower is better) of the same target bytes, ", plan.blocks,
                     " blocks of 1,024 unless the cell says otherwise, with the number of tokens of context in the "
                     "column's title, targets included.",
                     seeds ? " Mean over seeds (lowest to highest)." : ""));
  for (const Contender& contender : plan.contenders) page.paragraph(context_sentence(plan, results, contender));
  page.paragraph(compressor_sentence(plan, results));
  if (const int64_t last = plan.lengths.empty() ? 0 : plan.lengths.back();
      plan.block_limits.contains({"softmax", last}))
    if (const auto same = quality_on_blocks_of(results, {"lavo", last}, {"softmax", last}))
      page.paragraph(str_cat("On just the blocks that softmax was measured on at ", length_label(last),
                             ", LAVO stands at ", report::fixed(*same, 3), "."));
}

void add_training(report::HtmlPage& page, const DemoPlan& plan, const DemoResults& results) {
  page.heading("Training");
  page.chart(training_chart(plan, results), training_caption(plan, results));
  page.table(training_table(plan, results));
}

void add_costs(report::HtmlPage& page, const DemoPlan& plan, const DemoResults& results) {
  page.heading("Time and memory");
  page.paragraph(str_cat("Training: the operators alone, ", plan.speed_heads, " heads of ", plan.speed_head_dim,
                         ", r = w = ", plan.speed_window, ", float32, taking turns."));
  std::vector<report::Panel> training = {
      {cost_chart(plan, results.training_speed, {"Time, forward and backward", "microseconds per token"}),
       break_even_sentence(results.training_speed, "Forward and backward")}};
  if (!results.training_memory.empty())
    training.push_back({cost_chart(plan, results.training_memory,
                                   {"Memory, forward and backward", "KiB per token at the peak", 1024, true}),
                        break_even_sentence(results.training_memory, "Memory of forward and backward") +
                            " Counted on top of the inputs; the output and the gradients of q, k and v, " +
                            report::bytes(static_cast<double>(4 * 4 * plan.speed_heads * plan.speed_head_dim)) +
                            " a token, are in it for all."});
  page.charts(training);
  page.table(speed_table(plan, results),
             "Forward and backward pass of the operators, time of causal softmax divided by the attention's, by number "
             "of tokens.");
  page.paragraph(speed_sentence(plan, results));

  page.paragraph("Reading a stream: the trained models, one token more behind so many.");
  const std::string dashed =
      " Dashed: not measured, continued in a straight line from the two longest measured lengths.";
  page.charts({{cost_chart(plan, results.stream_speed, {"Time of one more token", "microseconds"}),
                break_even_sentence(results.stream_speed, "One more token") +
                    (extrapolated_softmax(results.stream_speed).empty() ? "" : dashed)},
               {cost_chart(plan, results.state_bytes, {"State of the stream", "KiB", 1024}),
                break_even_sentence(results.state_bytes, "State")}});
  page.paragraph(state_sentence(plan, results));
  page.chart(cost_chart(plan, results.forward_speed, {"Time of the operator, forward", "microseconds per token"}),
             break_even_sentence(results.forward_speed, "Forward") +
                 (extrapolated_softmax(results.forward_speed).empty() ? "" : dashed));
}

void add_memory(report::HtmlPage& page, const DemoPlan& plan, const DemoResults& results) {
  page.heading("Does the memory matter?");
  page.table(
      memory_table(plan, results),
      "Change of LAVO's bits per byte when the memory branch of the trained model is changed, by tokens of context.");
  page.paragraph(memory_sentence(plan, results));
  page.paragraph(local_sentence(plan, results));
  if (results.look.layers.empty()) return;

  page.heading("What the memory holds and where it is read");
  page.paragraph(str_cat("LAVO reads the first page of ", results.text, ", ", results.look.layers.front().positions,
                         " bytes. ", reading_sentence(results.look)));
  const ReadPage read = read_page(results.look);
  page.tinted(read.runs, read.keys,
              "The page as that head reads it: the colour says which slot has the largest weight at a character, its "
              "strength how large; without colour: another slot.");
  page.picture(memory_picture(results.look),
               str_cat("The same page from left to right, ", characters_per_column(results.look),
                       " characters a column, a row for each slot. Contents are means over everything read so far: "
                       "they settle as the page goes on."));
}

void add_recall(report::HtmlPage& page, const DemoPlan& plan, const DemoResults& results) {
  if (results.recall.empty()) return;
  page.heading("A task that needs a memory");
  page.paragraph(
      str_cat("Text of this size hardly needs what stands far back. Here nothing else helps: ", plan.recall.pairs,
              " pairs of a key and a value stand at the beginning of a row, fillers follow, and in its last 192 tokens "
              "keys are "
              "shown again, whose values must come next. Models of two layers, trained on rows of up to 256 tokens "
              "with windows "
              "of 16. docs/memory.md has more."));
  page.chart(recall_chart(plan, results),
             "A pair stands about as far from its question as the row is long. Bands: one standard error over rows; "
             "one seed.");
  page.table(recall_table(plan, results), "Share of right answers by tokens of the row.");
  page.paragraph(recall_sentence(plan, results));
}

void add_sample(report::HtmlPage& page, const DemoResults& results) {
  if (results.sample.empty()) return;
  page.heading("A sample");
  page.paragraph("The held-out text begins like this:");
  page.preformatted(without_empty_lines(results.sample_prompt));
  page.paragraph("The LAVO model goes on (temperature 0.8):");
  page.preformatted(results.sample);
}

void add_conditions(report::HtmlPage& page, const DemoPlan& plan, const DemoResults& results) {
  page.heading("Options, machine and commands");
  std::vector<std::pair<std::string, Json>> configurations;
  for (const Contender& contender : plan.contenders) {
    train::TrainOptions options = plan.train;
    options.learning_rate = contender.learning_rate;
    configurations.emplace_back(contender.label,
                                Json{{"model", models::to_json(contender.model)}, {"train", train::to_json(options)}});
  }
  page.folded("The complete configuration of the three models", report::options_table(configurations));
  auto machine = facts(results.environment);
  machine.emplace_back("Matrix product", str_cat(report::significant(results.matmul_gflops, 3),
                                                 " GFLOP/s (2048 x 2048, float32, in this run)"));
  machine.emplace_back("Time", report::duration(results.seconds) + " for everything on this page");
  page.facts(machine);
  for (const auto& [purpose, command] : repeating_commands(plan, results)) {
    page.paragraph(purpose + ":");
    page.preformatted(command);
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> repeating_commands(const DemoPlan& plan, const DemoResults& results) {
  const std::string& program = results.command.empty() ? std::string("longspan") : results.command.front();
  const std::string lavo = plan.folder_of(plan.contenders.front(), plan.seeds.front());
  std::vector<std::pair<std::string, std::string>> out = {{"This page", shell_line(results.command)}};
  std::vector<std::string> lengths;
  for (const int64_t length : plan.lengths) lengths.push_back(std::to_string(length));
  if (!lengths.empty())
    out.emplace_back("Quality of one model", shell_line({program, "eval", lavo, "--data", plan.out + "/data",
                                                         "--lengths", report::join(lengths, ",")}));
  lengths.clear();
  for (const int64_t length : plan.training_speed_lengths) lengths.push_back(std::to_string(length));
  const std::string window = std::to_string(plan.speed_window);
  if (!lengths.empty())
    out.emplace_back(
        "Time of the operators",
        shell_line({program, "bench", "--attention", "lavo", "--against", "softmax", "--pass", "forward_backward",
                    "--lengths", report::join(lengths, ","), "--heads", std::to_string(plan.speed_heads), "--head-dim",
                    std::to_string(plan.speed_head_dim), "--set", "r=" + window, "--set", "w=" + window}));
  out.emplace_back("The memory, every layer and head",
                   shell_line({program, "inspect", "lavo", lavo, "--text", plan.out + "/data", "--svg", "memory.svg"}));
  return out;
}

report::HtmlPage demo_page(const DemoPlan& plan, const DemoResults& results) {
  report::HtmlPage page("longspan demo: attention far beyond the training length");
  page.lead(lead_sentence(plan, results));
  page.paragraph(setting_paragraph(plan, results));
  add_quality(page, plan, results);
  add_training(page, plan, results);
  add_costs(page, plan, results);
  add_memory(page, plan, results);
  add_recall(page, plan, results);
  add_sample(page, results);
  add_conditions(page, plan, results);
  return page;
}

}  // namespace longspan::tool
