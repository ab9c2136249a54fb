#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "page.h"

namespace longspan::tool {

namespace {

std::string percent(double value) { return report::fixed(100 * value, 1) + " %"; }

}  // namespace

std::string task_sentence(const DocumentPlan& plan, const DocumentResults& results, const DocumentTask& task) {
  const DocumentData* data = data_of(results, task.name);
  if (!data) return "";
  // With several seeds the documents are the same ones, so their number is still that of one.
  const auto above = [&](double score, double yardstick) {
    const double own = sampling_error(score, data->test), other = sampling_error(yardstick, data->test);
    return score - yardstick > std::hypot(own, other);
  };
  std::vector<std::string> learned, rest;
  for (const DocumentContender& contender : plan.contenders) {
    const auto cell = score_of(results, task.name, contender.name);
    if (cell) (above(cell->mean, data->chance) ? learned : rest).push_back(contender.label + " " + percent(cell->mean));
  }
  if (learned.empty() && rest.empty()) return "";
  std::string text = task.title + " (the most common answer: " + percent(data->chance) + "): ";
  text += learned.empty() ? "no attention is above that beyond what so few documents may show by chance ("
                          : report::join(learned, ", ") + (rest.empty() ? "" : "; not above it: ");
  text += report::join(rest, ", ") + (learned.empty() ? ")." : ".");
  std::vector<std::string> yardsticks;
  for (const DocumentYardstick& yardstick : results.yardsticks)
    if (yardstick.task == task.name)
      yardsticks.push_back(
          str_cat(yardstick.name, " ", percent(yardstick.test),
                  above(yardstick.test, data->chance) ? "" : " (no more than the most common answer)"));
  if (!yardsticks.empty()) text += " For comparison: " + report::join(yardsticks, ", ") + ".";
  return text;
}

}  // namespace longspan::tool
