#include "longspan/report/format.h"
#include "page.h"

namespace longspan::tool {

report::Table quality_table(const DemoPlan& plan, const DemoResults& results) {
  report::Table table;
  table.columns = {{"attention"}};
  for (const int64_t length : plan.lengths) table.columns.push_back({report::length_label(length), true});
  for (const Contender& contender : plan.contenders) {
    std::vector<std::string> row = {contender.label};
    for (const int64_t length : plan.lengths) {
      const auto cell = quality(results, contender.attention, length);
      std::string text = cell ? report::fixed(cell->mean, 3) : "-";
      if (cell && cell->seeds > 1)
        text += " (" + report::fixed(cell->lowest, 3) + " to " + report::fixed(cell->highest, 3) + ")";
      if (cell && cell->blocks != plan.blocks) text += " on " + std::to_string(cell->blocks) + " blocks";
      row.push_back(text);
    }
    table.rows.push_back(row);
  }
  return table;
}

report::Table training_table(const DemoPlan& plan, const DemoResults& results) {
  report::Table table;
  table.columns = {{"attention"},    {"parameters", true}, {"learning rate", true},
                   {"tokens", true}, {"tokens/s", true},   {"time", true}};
  if (plan.seeds.size() > 1) table.columns.push_back({"seed", true});
  for (const Contender& contender : plan.contenders)
    for (const TrainingResult& t : results.trainings) {
      if (t.attention != contender.attention) continue;
      table.rows.push_back({contender.label, report::grouped(t.parameters), report::number(t.learning_rate),
                            report::grouped(t.tokens), report::grouped(static_cast<int64_t>(t.tokens_per_second())),
                            report::duration(t.seconds)});
      if (plan.seeds.size() > 1) table.rows.back().push_back(std::to_string(t.seed));
    }
  return table;
}

report::Table memory_table(const DemoPlan& plan, const DemoResults& results) {
  report::Table table;
  table.columns = {{"LAVO's memory"}};
  for (const int64_t length : plan.ablation_lengths) table.columns.push_back({report::length_label(length), true});
  const std::pair<const char*, const char*> ways[] = {
      {"zero", "set to zero"}, {"mean", "all slots weighted alike"}, {"swap", "taken from another place of the text"}};
  for (const auto& [way, meaning] : ways) {
    std::vector<std::string> row = {meaning};
    for (const int64_t length : plan.ablation_lengths) {
      const auto effect = ablation_effect(results, way, length);
      row.push_back(effect ? report::signed_fixed(*effect, 4) : "-");
    }
    table.rows.push_back(row);
  }
  return table;
}

report::Table speed_table(const DemoPlan& plan, const DemoResults& results) {
  report::Table table;
  table.columns = {{"softmax time / time of"}};
  for (const int64_t length : plan.training_speed_lengths)
    table.columns.push_back({report::length_label(length), true});
  for (const Contender& contender : plan.contenders) {
    if (contender.attention == "softmax") continue;
    std::vector<std::string> row = {contender.label};
    for (const int64_t length : plan.training_speed_lengths) {
      const auto ratio = training_speedup(results, contender.attention, length);
      row.push_back(ratio ? report::fixed(*ratio, 1) + "x" : "-");
    }
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace longspan::tool
