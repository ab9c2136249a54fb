#include "clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "longspan/report/format.h"
#include "tools/longspan/timing.h"

namespace longspan::tool {

namespace {

/// Microseconds that the contenders' models of width 128 take for a token on two cores, about: a step of training, and
/// reading, which grows with the context for softmax alone.
double training_cost(const std::string& attention) {
  return attention == "softmax" ? 42 : attention == "lavo" ? 18 : 14;
}
double reading_cost(const std::string& attention, double context) {
  return attention == "softmax" ? 14 + 0.0065 * context : attention == "lavo" ? 16 : 12;
}

double wider(const DemoPlan& plan) { return plan.full ? 3.5 : 1; }

}  // namespace

double training_work(const DemoPlan& plan, const Contender& contender) {
  return 1e-6 * wider(plan) * training_cost(contender.attention) *
         static_cast<double>(plan.train.steps * plan.train.batch * plan.train.length);
}

double reading_work(const DemoPlan& plan, const Contender& contender, int64_t length, int64_t blocks) {
  return 1e-6 * wider(plan) * static_cast<double>(blocks * length) *
         reading_cost(contender.attention, static_cast<double>(length));
}

double evaluation_work(const DemoPlan& plan, const Contender& contender) {
  constexpr double kWays = 3;  // of ablation
  double work = 0;
  for (const int64_t length : plan.lengths) {
    const auto limit = plan.block_limits.find({contender.attention, length});
    work += reading_work(plan, contender, length, limit == plan.block_limits.end() ? plan.blocks : limit->second);
  }
  if (contender.attention == "lavo")
    for (const int64_t length : plan.ablation_lengths)
      work += kWays * reading_work(plan, contender, length, plan.blocks);
  return work;
}

double speed_work(const DemoPlan& plan) {
  // Three seconds of rounds at each length, more where softmax's four calls are longer than that.
  double work = 0;
  for (const int64_t length : plan.training_speed_lengths)
    work += 1 + 4 * 2e-8 * std::pow(static_cast<double>(length), 2);
  for (const int64_t length : plan.forward_speed_lengths)
    work += 1 + 4 * 6e-9 * std::pow(static_cast<double>(std::min(length, plan.softmax_speed_limit)), 2);
  return work;
}

double stream_work(const DemoPlan& plan) { return 1 + static_cast<double>(plan.stream_lengths.size()); }

double recall_work(const DemoPlan& plan) {
  constexpr double kStep = 0.07, kReading = 4;  // seconds: of a step; of the rows that are measured
  return static_cast<double>(plan.recall.contenders.size()) *
         (kStep * static_cast<double>(plan.recall.steps) + kReading);
}

double whole_work(const DemoPlan& plan) {
  double work = speed_work(plan) + stream_work(plan) + recall_work(plan);
  for (const Contender& contender : plan.contenders)
    work +=
        static_cast<double>(plan.seeds.size()) * (training_work(plan, contender) + evaluation_work(plan, contender));
  return work;
}

void DemoClock::begin(std::string stage, double work) {
  end();
  stage_ = std::move(stage);
  work_ = work;
  began_ = now();
  if (first_ < 0) first_ = began_;
}

void DemoClock::end() {
  if (!stage_.empty()) stages_.emplace_back(std::exchange(stage_, ""), now() - began_);
  done_ += std::exchange(work_, 0);
}

std::string DemoClock::left(double share) const {
  constexpr double kLeastSeconds = 3;
  const double done = done_ + share * work_, elapsed = now() - first_;
  if (done <= 0 || elapsed < kLeastSeconds) return "";
  return "about " + report::duration(elapsed * std::max(0.0, whole_ - done) / done) + " left in all";
}

}  // namespace longspan::tool
