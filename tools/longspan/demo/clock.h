// How long the whole demo will take yet.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan.h"

namespace longspan::tool {

/// Work of the stages in seconds of some machine: only their proportions count.
double training_work(const DemoPlan& plan, const Contender& contender);
/// One length of the evaluation on so many blocks; all lengths and ablations.
double reading_work(const DemoPlan& plan, const Contender& contender, int64_t length, int64_t blocks);
double evaluation_work(const DemoPlan& plan, const Contender& contender);
double speed_work(const DemoPlan& plan);
double stream_work(const DemoPlan& plan);
double recall_work(const DemoPlan& plan);
double whole_work(const DemoPlan& plan);

class DemoClock {
 public:
  explicit DemoClock(double whole) : whole_(whole) {}

  /// Ends the stage before it and begins one with `work` of the whole.
  void begin(std::string stage, double work);
  void end();
  /// "about 4 min left in all" when `share` of the stage is done; "" as long as too little is done to tell.
  std::string left(double share) const;
  /// Seconds of the stages that have ended, in order.
  const std::vector<std::pair<std::string, double>>& stages() const { return stages_; }

 private:
  double whole_, done_ = 0, work_ = 0;  ///< work_: of the stage under way
  double first_ = -1, began_ = 0;
  std::string stage_;
  std::vector<std::pair<std::string, double>> stages_;
};

}  // namespace longspan::tool
