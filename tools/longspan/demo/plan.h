// What the demo trains and measures.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/models/config.h"
#include "longspan/train/options.h"

namespace longspan::tool {

/// One of the models that are compared.
struct Contender {
  std::string attention;  ///< name in the registry
  std::string label;      ///< for a person
  models::ModelConfig model;
  double learning_rate = 0;
};

/// A memory on the task recall (data/recall.h).
struct RecallContender {
  std::string attention, label;
  FieldValues options = {};
};

struct RecallPlan {
  std::vector<RecallContender> contenders;
  int64_t steps = 400, pairs = 16, questions = 512;
  std::vector<int64_t> lengths;  ///< of measured rows, ascending
};

struct DemoPlan {
  std::string out;  ///< folder of the results
  bool full = false;
  train::TrainOptions train;          ///< of every contender, learning rate apart
  std::vector<Contender> contenders;  ///< the first one, lavo, is what the others are matched to
  std::vector<int64_t> seeds = {0};

  std::vector<int64_t> lengths;  ///< of context, ascending
  int64_t blocks = 16;
  std::map<std::pair<std::string, int64_t>, int64_t>
      block_limits;  ///< (attention, length) -> fewer blocks, where they would cost too much
  std::vector<int64_t> ablation_lengths;

  int64_t speed_heads = 8, speed_head_dim = 64, speed_window = 64;  ///< r = w = speed_window
  std::vector<int64_t> training_speed_lengths;  ///< forward + backward, every attention against softmax
  std::vector<int64_t> forward_speed_lengths;
  int64_t softmax_speed_limit = 0;      ///< longest forward pass measured for softmax; beyond it is extrapolated
  int64_t least_memory_length = 1024;   ///< shorter passes take too few pages to be measured
  std::vector<int64_t> stream_lengths;  ///< tokens behind which one more is timed in the trained models
  int64_t softmax_stream_limit = 0;     ///< longest stream that softmax reads
  RecallPlan recall;
  int64_t page = 1536;  ///< tokens of the held-out text whose reading is drawn

  /// Where a trained model lies.
  std::string folder_of(const Contender& contender, int64_t seed) const {
    const std::string folder = str_cat(out, "/models/", contender.attention);
    return seeds.size() > 1 ? str_cat(folder, "-", seed) : folder;
  }
};

/// `steps` and `longest` restrict it (0: as planned): fewer steps, no length beyond `longest`.
DemoPlan make_demo_plan(bool full, int64_t steps, int64_t longest);

}  // namespace longspan::tool
