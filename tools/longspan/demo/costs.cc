// measure_operators and measure_streams.
#include <algorithm>
#include <functional>

#include "longspan/nn/registry.h"
#include "measure.h"
#include "tools/longspan/interrupt.h"
#include "tools/longspan/operator_run.h"
#include "tools/longspan/peak_memory.h"
#include "tools/longspan/progress.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {

namespace {

/// `count` tokens of the held-out text from `begin` on, from its start again behind its end: [1, count].
at::Tensor held_out(const TokenFile& file, int64_t begin, int64_t count) {
  at::Tensor out = at::empty({1, count}, at::kLong);
  for (int64_t done = 0; done < count;) {
    const int64_t from = (begin + done) % file.size(), piece = std::min(count - done, file.size() - from);
    file.copy_to(out.mutable_data_ptr<int64_t>() + done, from, piece);
    done += piece;
  }
  return out;
}

/// A model that reads a stream.
struct Reader {
  const Contender* contender;
  models::LanguageModel* model;
  models::ModelState state;
  int64_t read = 0;

  void read_to(int64_t length, const TokenFile& file) {
    constexpr int64_t kPiece = 4096;
    while (read < length) {
      stop_if_interrupted();
      const int64_t piece = std::min(kPiece, length - read);
      model->extend(state, held_out(file, read, piece));
      read += piece;
    }
  }
};

}  // namespace

void measure_operators(DemoRun& run) {
  const DemoPlan& plan = run.plan;
  DemoResults& results = run.results;
  run.clock.begin("operators", speed_work(plan));
  results.matmul_gflops = matmul_gflops(at::kFloat);
  nn::AttentionSizes sizes;
  sizes.width = plan.speed_heads * plan.speed_head_dim;
  sizes.heads = plan.speed_heads;
  const auto options_of = [&](const std::string& attention) {
    FieldValues options;
    if (attention == "lavo") options["r"] = plan.speed_window;
    if (attention != "softmax") options["w"] = plan.speed_window;
    return options;
  };
  const auto total = static_cast<int64_t>(plan.training_speed_lengths.size() + plan.forward_speed_lengths.size());
  ProgressLine progress("operator speed, lengths", total, run.common.quiet);
  int64_t done = 0;
  const auto measure = [&](Pass pass, int64_t length, Costs& out) {
    const OperatorShape shape{1, plan.speed_heads, length, plan.speed_head_dim, at::kFloat, false};
    const bool memory = pass == Pass::forward_backward && length >= plan.least_memory_length;
    std::vector<std::string> names;
    std::vector<std::function<void()>> turns;
    for (const Contender& contender : plan.contenders) {
      if (pass == Pass::forward && contender.attention == "softmax" && length > plan.softmax_speed_limit) continue;
      auto attention =
          nn::make_attention(contender.attention, nn::Pattern::causal_self, sizes, options_of(contender.attention));
      names.push_back(contender.attention);
      turns.push_back([run = std::make_shared<OperatorRun>(attention, shape, pass, 0)] { (*run)(); });
      if (const auto peak = memory ? peak_memory(turns.back()) : std::nullopt)
        results.training_memory.push_back(
            {contender.attention, length, static_cast<double>(*peak) / static_cast<double>(length)});
      stop_if_interrupted();
    }
    TimingPlan timing;
    timing.warm_up = !memory;  // measuring the memory was one
    const auto timings = time_alternating(turns, timing);
    for (std::size_t i = 0; i < names.size(); ++i)
      out.push_back({names[i], length, 1e6 * timings[i].seconds / static_cast<double>(length)});
    ++done;
    progress.update(done, run.clock.left(static_cast<double>(done) / static_cast<double>(total)));
  };
  for (const int64_t length : plan.training_speed_lengths)
    measure(Pass::forward_backward, length, results.training_speed);
  for (const int64_t length : plan.forward_speed_lengths) measure(Pass::forward, length, results.forward_speed);
}

void measure_streams(DemoRun& run, const std::vector<Trained>& models, const Dataset& dataset) {
  const DemoPlan& plan = run.plan;
  const TokenFile& file = dataset.split("test");
  run.clock.begin("streams", stream_work(plan));
  c10::InferenceMode inference;
  std::vector<Reader> readers;
  for (const auto& [contender, model] : models) readers.push_back({contender, model.get(), model->begin(1)});
  const auto total = static_cast<int64_t>(plan.stream_lengths.size());
  ProgressLine progress("streams of the trained models, lengths", total, run.common.quiet);
  int64_t done = 0;
  for (const int64_t length : plan.stream_lengths) {
    for (Reader& reader : readers) {
      const std::string& attention = reader.contender->attention;
      run.results.state_bytes.push_back({attention, length, reader.model->attention_cost(length).state_bytes});
      if (attention == "softmax" && length > plan.softmax_stream_limit) continue;
      reader.read_to(length, file);
      TimingPlan timing;
      timing.minimum_seconds = 0.1;
      timing.minimum_repeats = 30;
      const auto one_more = [&reader, next = held_out(file, length, 1)] {
        models::ModelState state = reader.state;  // shares the tensors: the reader's own state stays as it is
        reader.model->extend(state, next);
      };
      // Each by itself, as streams are read: next to it the long cache of softmax would push a small state out of the
      // processor's caches.
      const Timing result = time_alternating({one_more}, timing).front();
      run.results.stream_speed.push_back({attention, length, 1e6 * result.seconds});
    }
    ++done;
    progress.update(done, run.clock.left(static_cast<double>(done) / static_cast<double>(total)));
  }
}

}  // namespace longspan::tool
