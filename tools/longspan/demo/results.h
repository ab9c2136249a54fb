// What the demo measured: plain numbers, from which metrics.json and the report are written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "longspan/report/binned.h"
#include "tools/longspan/environment.h"
#include "tools/longspan/inspect/lavo_view.h"

namespace longspan::tool {

/// One model, trained with one seed.
struct TrainingResult {
  std::string attention;
  int64_t seed = 0, tokens = 0, parameters = 0;
  double seconds = 0, learning_rate = 0;
  report::Binned curve{64};  ///< bits per byte of training windows, by tokens seen
  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

/// One model on the held-out text with one length of context.
struct QualityResult {
  std::string attention;
  int64_t seed = 0, length = 0, blocks = 0;
  double bits_per_byte = 0;
  std::map<int64_t, double> by_block;  ///< target offset -> bits per byte
};

/// LAVO with its memory changed, on the same blocks as its QualityResult of that length and seed.
struct AblatedQuality {
  std::string way;
  int64_t seed = 0, length = 0;
  double bits_per_byte = 0;
};

/// What an attention costs at one length: microseconds per token, bytes per token, or bytes.
struct CostResult {
  std::string attention;
  int64_t length = 0;
  double value = 0;
};
using Costs = std::vector<CostResult>;

/// A memory on the task recall.
struct RecallPanelResult {
  struct Point {
    int64_t length = 0;
    double accuracy = 0, standard_error = 0;
  };
  std::string attention, label;
  int64_t parameters = 0;
  double train_seconds = 0;
  std::vector<Point> points;  ///< by the length of the row
};

/// What the trained LAVO does with a page of the held-out text.
struct MemoryLook {
  std::vector<LayerView> layers;
  std::vector<std::string> labels;  ///< a character for each position, "" within one
};

struct DemoResults {
  std::string text;  ///< what was held out, for a person
  int64_t train_bytes = 0, held_out_bytes = 0;
  std::map<std::string, double>
      compressors;  ///< "gzip -9" -> bits per byte of the held-out text; absent: not installed
  std::vector<TrainingResult> trainings;
  std::vector<QualityResult> qualities;
  std::vector<AblatedQuality> ablations;
  Costs training_speed;   ///< operator, forward + backward, microseconds per token
  Costs forward_speed;    ///< operator, forward
  Costs training_memory;  ///< operator, forward + backward: peak bytes per token; empty where the system does not say
  Costs stream_speed;     ///< trained model, one more token after so many: microseconds
  Costs state_bytes;      ///< of one stream in the trained model after so many tokens, all layers
  std::vector<RecallPanelResult> recall;
  MemoryLook look;
  std::string sample_prompt, sample;
  Environment environment;
  std::vector<std::string> command;
  double matmul_gflops = 0, seconds = 0;
  std::vector<std::pair<std::string, double>> stages;  ///< what took how many seconds, in order
};

/// Mean over seeds, with the extremes and on how many blocks.
struct Cell {
  double mean = 0, lowest = 0, highest = 0;
  int64_t blocks = 0;
  int seeds = 0;
};
std::optional<Cell> quality(const DemoResults& results, const std::string& attention, int64_t length);
/// Mean over seeds of (bits per byte with the memory changed) - (without), for the given way and length.
std::optional<double> ablation_effect(const DemoResults& results, const std::string& way, int64_t length);
/// Which measurement: an attention with a length of context.
struct Measured {
  std::string attention;
  int64_t length = 0;
};
/// Mean bits per byte of `what` over just the target blocks that `other` was measured on.
std::optional<double> quality_on_blocks_of(const DemoResults& results, const Measured& what, const Measured& other);

/// The cost of an attention at a length, if it was measured.
std::optional<double> cost_at(const Costs& costs, const std::string& attention, int64_t length);
/// time(softmax) / time(attention), both from the same rounds.
std::optional<double> training_speedup(const DemoResults& results, const std::string& attention, int64_t length);
/// Least-squares slope of log(time of n tokens) against log n, over lengths of at least `from`: 1 = linear.
std::optional<double> growth(const Costs& costs, const std::string& attention, int64_t from);
/// The cost of softmax continued by a + b n to the lengths at which others were measured, fitted to its two longest;
/// empty where everything was measured.
report::Points extrapolated_softmax(const Costs& costs);

/// From which length on an attention costs no more than softmax, over the lengths at which both were measured.
struct BreakEven {
  enum class Kind {
    always,  ///< from the shortest length on
    at,      ///< from `length` on
    never    ///< not at the longest length
  };
  Kind kind = Kind::never;
  double length = 0;             ///< where both cost the same, on a straight line in log cost against log length
  int64_t below = 0, above = 0;  ///< the measured lengths to either side; always, never: both the one that decides
};
std::optional<BreakEven> break_even(const Costs& costs, const std::string& attention);

}  // namespace longspan::tool
