#include "metrics.h"

namespace longspan::tool {

namespace {

Json training_metrics(const DemoPlan& plan, const DemoResults& results) {
  Json out = Json::object();
  for (const Contender& contender : plan.contenders) {
    TrainingResult total;
    int64_t count = 0;
    Json seeds = Json::array();
    for (const TrainingResult& t : results.trainings) {
      if (t.attention != contender.attention) continue;
      total = count == 0 ? t : total;
      if (count > 0) total.seconds += t.seconds;
      seeds.push_back(t.seed);
      ++count;
    }
    if (count == 0) continue;
    const double seconds = total.seconds / static_cast<double>(count);
    out[contender.attention] = {{"tokens", total.tokens},
                                {"tokens_per_second", static_cast<double>(total.tokens) / seconds},
                                {"seconds", seconds},
                                {"parameters", total.parameters},
                                {"learning_rate", total.learning_rate},
                                {"seeds", seeds},
                                {"model", models::to_json(contender.model)}};
  }
  return out;
}

/// {attention: {length: value}}.
Json by_length(const Costs& costs) {
  Json out = Json::object();
  for (const CostResult& c : costs) out[c.attention][std::to_string(c.length)] = c.value;
  return out;
}

/// {attention: length}, null where softmax stays cheaper, and the shortest measured length where it never was.
Json break_evens(const DemoPlan& plan, const Costs& costs) {
  Json out = Json::object();
  for (const Contender& contender : plan.contenders) {
    if (contender.attention == "softmax") continue;
    const auto even = break_even(costs, contender.attention);
    if (!even) continue;
    Json& length = out[contender.attention];
    if (even->kind == BreakEven::Kind::at) length = even->length;
    if (even->kind == BreakEven::Kind::always) length = even->above;
  }
  return out;
}

/// {attention: {seed: {tokens, mean, deviation}}}, arrays over the bins.
Json curves(const DemoResults& results) {
  Json out = Json::object();
  for (const TrainingResult& t : results.trainings) {
    Json curve = {{"tokens", Json::array()}, {"mean", Json::array()}, {"deviation", Json::array()}};
    for (const auto& bin : t.curve.bins()) {
      curve["tokens"].push_back(bin.x);
      curve["mean"].push_back(bin.mean);
      curve["deviation"].push_back(bin.deviation());
    }
    out[t.attention][std::to_string(t.seed)] = std::move(curve);
  }
  return out;
}

/// {pairs, steps, accuracy and standard_error: {attention: {length: value}}}
Json recall_metrics(const DemoPlan& plan, const DemoResults& results) {
  Json accuracy = Json::object(), error = Json::object();
  for (const RecallPanelResult& result : results.recall)
    for (const RecallPanelResult::Point& point : result.points) {
      accuracy[result.attention][std::to_string(point.length)] = point.accuracy;
      error[result.attention][std::to_string(point.length)] = point.standard_error;
    }
  return {
      {"pairs", plan.recall.pairs}, {"steps", plan.recall.steps}, {"accuracy", accuracy}, {"standard_error", error}};
}

}  // namespace

Json demo_metrics(const DemoPlan& plan, const DemoResults& results) {
  Json bits = Json::object(), blocks = Json::object(), range = Json::object(), speedup = Json::object();
  for (const Contender& contender : plan.contenders) {
    const std::string& name = contender.attention;
    for (const int64_t length : plan.lengths)
      if (const auto cell = quality(results, name, length)) {
        bits[name][std::to_string(length)] = cell->mean;
        blocks[name][std::to_string(length)] = cell->blocks;
        range[name][std::to_string(length)] = {cell->lowest, cell->highest};
      }
    for (const int64_t length : plan.training_speed_lengths)
      if (const auto ratio = training_speedup(results, name, length); ratio && name != "softmax")
        speedup[name][std::to_string(length)] = *ratio;
  }
  Json memory = Json::object();
  for (const AblatedQuality& a : results.ablations)
    memory[a.way][std::to_string(a.length)] = *ablation_effect(results, a.way, a.length);

  Json out;
  out["bits_per_byte"] = bits;
  out["training"] = training_metrics(plan, results);
  out["speedup_forward_backward"] = speedup;
  out["blocks"] = blocks;
  out["bits_per_byte_range"] = range;
  out["memory_effect"] = memory;
  out["compressors"] = results.compressors;
  out["us_per_token_forward_backward"] = by_length(results.training_speed);
  out["us_per_token_forward"] = by_length(results.forward_speed);
  out["us_per_token_streaming"] = by_length(results.stream_speed);
  out["bytes_per_token_forward_backward"] = by_length(results.training_memory);
  out["recall"] = recall_metrics(plan, results);
  out["state_bytes"] = by_length(results.state_bytes);
  out["break_even"] = {{"time_forward_backward", break_evens(plan, results.training_speed)},
                       {"memory_forward_backward", break_evens(plan, results.training_memory)},
                       {"time_streaming", break_evens(plan, results.stream_speed)},
                       {"state", break_evens(plan, results.state_bytes)}};
  out["training_curves"] = curves(results);
  out["held_out"] = {{"name", results.text}, {"bytes", results.held_out_bytes}};
  out["train_bytes"] = results.train_bytes;
  out["full"] = plan.full;
  out["machine"] = to_json(results.environment);
  out["machine"]["matmul_gflops"] = results.matmul_gflops;
  out["command"] = shell_line(results.command);
  out["stage_seconds"] = Json::object();
  for (const auto& [stage, seconds] : results.stages) out["stage_seconds"][stage] = seconds;
  out["seconds"] = results.seconds;
  return out;
}

}  // namespace longspan::tool
