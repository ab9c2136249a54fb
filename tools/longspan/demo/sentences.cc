#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "page.h"

namespace longspan::tool {

using report::fixed;
using report::length_label;

std::string even_length(const BreakEven& even) { return "about " + report::grouped(std::llround(even.length)); }

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
  for (const AblatedQuality& a : results.ablations) {
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

std::string state_sentence(const DemoPlan& plan, const DemoResults& results) {
  if (plan.stream_lengths.empty()) return "";
  const int64_t first = plan.stream_lengths.front(), last = plan.stream_lengths.back();
  const auto lavo = cost_at(results.state_bytes, "lavo", last), early = cost_at(results.state_bytes, "lavo", first),
             softmax = cost_at(results.state_bytes, "softmax", last);
  if (!lavo || !early || !softmax) return "";
  return str_cat("To go on reading after ", length_label(last), " tokens the trained LAVO model keeps ",
                 report::bytes(*lavo), " of state (", report::bytes(*early), " after ", length_label(first),
                 "); softmax keeps ", report::bytes(*softmax), ".");
}

std::string break_even_sentence(const Costs& costs, const std::string& what) {
  const auto even = break_even(costs, "lavo");
  if (!even) return "";
  switch (even->kind) {
    case BreakEven::Kind::always:
      return str_cat(what, ": LAVO costs no more than softmax from the shortest length measured (",
                     length_label(even->above), " tokens) on.");
    case BreakEven::Kind::never:
      return str_cat(what, ": LAVO costs more than softmax at every length up to ", length_label(even->above),
                     ", the longest measured.");
    case BreakEven::Kind::at:
      return str_cat(what, ": LAVO breaks even with softmax at ", even_length(*even), " tokens (interpolated between ",
                     length_label(even->below), " and ", length_label(even->above), ") and costs less from there on.");
  }
  return "";
}

std::string lead_sentence(const DemoPlan& plan, const DemoResults& results) {
  std::string text;
  if (!plan.lengths.empty())
    if (const auto lavo = quality(results, "lavo", plan.lengths.back()),
        softmax = quality(results, "softmax", plan.lengths.back());
        lavo && softmax)
      text = str_cat("Trained on windows of ", length_label(plan.train.length), " tokens and reading ",
                     length_label(plan.lengths.back()), ", LAVO needs ", fixed(lavo->mean, 3),
                     " bits per byte of a text that it has not seen, softmax with RoPE ", fixed(softmax->mean, 3), ".");
  if (!plan.training_speed_lengths.empty())
    if (const auto ratio = training_speedup(results, "lavo", plan.training_speed_lengths.back()))
      text += str_cat(text.empty() ? "" : " ", "Forward and backward over ",
                      length_label(plan.training_speed_lengths.back()), " tokens it is ", fixed(*ratio, 1),
                      " times as fast as softmax.");
  return text;
}

}  // namespace longspan::tool
