// What the demo measured: plain numbers, from which metrics.json and the report are written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace longspan::tool {

/// One model, trained with one seed.
struct TrainingResult {
  std::string attention;
  int64_t seed = 0, tokens = 0, parameters = 0;
  double seconds = 0, learning_rate = 0;
  std::vector<std::pair<double, double>>
      curve;  ///< tokens seen, bits per byte of training windows (mean over some steps)
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
struct AblationResult {
  std::string way;
  int64_t seed = 0, length = 0;
  double bits_per_byte = 0;
};

/// Time of an operator at one length.
struct SpeedResult {
  std::string attention;
  int64_t length = 0;
  double us_per_token = 0;
};

struct DemoResults {
  std::string text;  ///< what was held out, for a person
  int64_t train_bytes = 0, held_out_bytes = 0;
  std::map<std::string, double>
      compressors;  ///< "gzip -9" -> bits per byte of the held-out text; absent: not installed
  std::vector<TrainingResult> trainings;
  std::vector<QualityResult> qualities;
  std::vector<AblationResult> ablations;
  std::vector<SpeedResult> training_speed;  ///< forward + backward
  std::vector<SpeedResult> forward_speed;
  std::map<std::string, std::map<int64_t, double>>
      state_bytes;  ///< of one stream in the trained model, all layers, by attention and length
  std::string sample_prompt, sample;
  int threads = 0;
  std::string simd;
  double matmul_gflops = 0, seconds = 0;
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

const SpeedResult* find_speed(const std::vector<SpeedResult>& speeds, const std::string& attention, int64_t length);
/// time(softmax) / time(attention), both from the same rounds.
std::optional<double> training_speedup(const DemoResults& results, const std::string& attention, int64_t length);
/// Least-squares slope of log(time of n tokens) against log n, over lengths of at least `from`: 1 = linear.
std::optional<double> growth(const std::vector<SpeedResult>& speeds, const std::string& attention, int64_t from);
/// Time per token of softmax continued by a + b n, fitted to its two longest measured lengths; empty where everything
/// was measured.
std::vector<std::pair<double, double>> extrapolated_softmax(const DemoResults& results);

}  // namespace longspan::tool
