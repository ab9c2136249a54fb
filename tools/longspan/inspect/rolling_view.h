// What the rolling experiment found, with one layer or with a trained model, as table, JSON and chart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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

/// What one shift changes in a trained model.
struct RolledModelRow {
  int64_t shift = 0;
  double hidden_change = 0, head_change = 0;
  std::optional<double> loss = {};  ///< where the examples have something to measure by; nats
  std::vector<std::pair<std::string, double>> metrics = {};
};

struct RolledModelLook {
  std::string model, kind, attention;
  std::string positions, feature, roll_pattern;  ///< as the flags have them
  int64_t examples = 0, tokens = 0, longest = 0;
  int64_t slots = 0;  ///< 0: each sequence's own
  std::vector<RolledModelRow> rows;
};

/// One object for each shift.
std::vector<Json> to_json(const RolledModelLook& look);
/// Shifts down.
report::Table rolling_table(const RolledModelLook& look);
/// The changes and the first metric, whose value without a shift is a dotted line.
report::LineChart rolling_chart(const RolledModelLook& look);

/// One object for each series.
std::vector<Json> to_json(const RollingLook& look);
/// Shifts down, series across.
report::Table rolling_table(const RollingLook& look);
/// Without shift 0, whose error is 0: the axis of shifts is logarithmic.
report::LineChart rolling_chart(const RollingLook& look);

}  // namespace longspan::tool
