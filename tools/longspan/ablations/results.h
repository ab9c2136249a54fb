// What the ablations measured, as a table and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"
#include "longspan/report/table.h"
#include "rows.h"

namespace longspan::tool {

/// One variant, trained with one seed.
struct AblationRun {
  int64_t seed = 0, parameters = 0;
  double bits_per_byte = 0;                   ///< on the held-out text
  std::optional<double> without_memory = {};  ///< the same with memory=zero; none where there is no memory
  double tokens_per_second = 0;               ///< of training
};

struct AblationResult {
  AblationRow row;
  std::vector<AblationRun> runs;  ///< one for each seed, the same seeds in every row

  double mean() const;
  /// Mean over the seeds of the difference to the run of `full` with that seed.
  double difference(const AblationResult& full) const;
  /// Mean change of bits per byte when the memory is set to zero.
  std::optional<double> memory_effect() const;
};

/// One object: name, options, means, differences and every run.
Json to_json(const AblationResult& result, const AblationResult& full);

/// A line for each row, the first of which is `full`.
report::Table ablation_table(const std::vector<AblationResult>& results);

}  // namespace longspan::tool
