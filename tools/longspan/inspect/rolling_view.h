// What the rolling experiment found, as table, JSON and chart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/fields.h"
#include "longspan/io/json.h"
#include "longspan/report/chart.h"
#include "longspan/report/table.h"

namespace longspan::tool {

/// One attention, or one pattern of an attention.
struct RollingSeries {
  std::string name;
  FieldValues options;         ///< complete
  std::vector<double> errors;  ///< of each shift
};

struct RollingLook {
  std::string attention;
  int64_t n = 0;
  uint64_t seed = 0;
  std::vector<int64_t> shifts;
  std::vector<RollingSeries> series;
};

/// One object for each series.
std::vector<Json> to_json(const RollingLook& look);
/// Shifts down, series across.
report::Table rolling_table(const RollingLook& look);
/// Without shift 0, whose error is 0: the axis of shifts is logarithmic.
report::LineChart rolling_chart(const RollingLook& look);

}  // namespace longspan::tool
