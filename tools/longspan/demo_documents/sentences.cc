#include <algorithm>
#include <cmath>

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "page.h"

namespace longspan::tool {

std::string task_sentence(const DocumentPlan& plan, const DocumentResults& results, const DocumentTask& task) {
  const DocumentData* data = data_of(results, task.name);
  if (!data) return "";
  // With several seeds the documents are the same ones, so their number is still that of one.
  const int64_t documents = independent_documents(task, *data);
  const auto above = [&](double score, double yardstick) {
    return score - yardstick > std::hypot(sampling_error(score, documents), sampling_error(yardstick, documents));
  };
  // A question has no most common answer: there the words in common with it are what an attention must beat.
  double floor = 0;
  for (const DocumentYardstick& yardstick : results.yardsticks)
    if (yardstick.task == task.name && yardstick.name == "bag of words") floor = yardstick.test;
  std::string floor_name = "bag of words";
  if (data->chance) {
    floor = *data->chance;
    floor_name = "the most common answer";
  }
  std::vector<std::string> learned, rest;
  for (const DocumentContender& contender : plan.contenders) {
    const auto cell = score_of(results, task.name, contender.name);
    if (cell) (above(cell->mean, floor) ? learned : rest).push_back(contender.label + " " + report::percent(cell->mean));
  }
  if (learned.empty() && rest.empty()) return "";
  std::string text = task.title + " (" + floor_name + ": " + report::percent(floor) + "): ";
  text += learned.empty() ? "no attention is above that beyond what so few documents may show by chance ("
                          : report::join(learned, ", ") + (rest.empty() ? "" : "; not above it: ");
  text += report::join(rest, ", ") + (learned.empty() ? ")." : ".");
  std::vector<std::string> yardsticks;
  for (const DocumentYardstick& yardstick : results.yardsticks)
    if (yardstick.task == task.name && yardstick.name != floor_name)
      yardsticks.push_back(str_cat(yardstick.name, " ", report::percent(yardstick.test),
                                   above(yardstick.test, floor) ? "" : " (no more than " + floor_name + ")"));
  if (!yardsticks.empty()) text += " For comparison: " + report::join(yardsticks, ", ") + ".";
  return text;
}

}  // namespace longspan::tool
