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

Json speeds(const std::vector<SpeedResult>& results) {
  Json out = Json::object();
  for (const SpeedResult& s : results) out[s.attention][std::to_string(s.length)] = s.us_per_token;
  return out;
}

}  // namespace

Json demo_metrics(const DemoPlan& plan, const DemoResults& results) {
  Json bits = Json::object(), blocks = Json::object(), range = Json::object(), speedup = Json::object(),
       state = Json::object();
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
    for (const auto& [length, bytes] :
         results.state_bytes.contains(name) ? results.state_bytes.at(name) : std::map<int64_t, double>())
      state[name][std::to_string(length)] = bytes;
  }
  Json memory = Json::object();
  for (const AblationResult& a : results.ablations)
    memory[a.way][std::to_string(a.length)] = *ablation_effect(results, a.way, a.length);

  Json out;
  out["bits_per_byte"] = bits;
  out["training"] = training_metrics(plan, results);
  out["speedup_forward_backward"] = speedup;
  out["blocks"] = blocks;
  out["bits_per_byte_range"] = range;
  out["memory_effect"] = memory;
  out["compressors"] = results.compressors;
  out["us_per_token_forward_backward"] = speeds(results.training_speed);
  out["us_per_token_forward"] = speeds(results.forward_speed);
  out["state_bytes"] = state;
  out["held_out"] = {{"name", results.text}, {"bytes", results.held_out_bytes}};
  out["train_bytes"] = results.train_bytes;
  out["full"] = plan.full;
  out["machine"] = {{"threads", results.threads}, {"simd", results.simd}, {"matmul_gflops", results.matmul_gflops}};
  out["seconds"] = results.seconds;
  return out;
}

}  // namespace longspan::tool
