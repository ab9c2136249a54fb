// The cells of a study: one model each, trained and measured, whose result is a file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "longspan/io/json.h"

namespace longspan::tool {

struct StudyCell {
  std::string name;   ///< of its file
  std::string label;  ///< for a person
  Json config;        ///< everything that its result depends on
  int64_t steps = 0;  ///< of training, for the time left
};

/// The folder of a study: study.json, what its cells are, and cells/NAME.json of every finished one. A cell is done
/// when its file is there, whole (io/atomic_file.h); one that was killed has left nothing and is done again.
class CellFolder {
 public:
  CellFolder(std::string folder, std::string kind) : folder_(std::move(folder)), kind_(std::move(kind)) {}

  /// The result of a cell that was finished before. InputError when the file is of another configuration: a folder
  /// holds one study.
  std::optional<Json> finished(const StudyCell& cell) const;

  /// Says in study.json what the cells are, beside those that are there. `data`: what all share, or null.
  void describe(const std::vector<StudyCell>& cells, const Json& data = {}) const;

  /// Puts the result of a cell in place.
  void save(const std::string& name, const Json& config, const Json& result) const;

  const std::string& folder() const { return folder_; }
  const std::string& kind() const { return kind_; }

  /// Where a cell that keeps its model puts it.
  std::string model(const std::string& name) const { return folder_ + "/" + kModels + "/" + name; }

  static constexpr const char *kPlan = "study.json", *kCells = "cells", *kModels = "models";

 private:
  std::string path(const std::string& name) const { return folder_ + "/" + kCells + "/" + name + ".json"; }

  std::string folder_, kind_;
};

/// A cell as another process of the program finds it in study.json.
struct PlannedCell {
  std::string kind;
  Json config, data;
};
/// InputError for a folder without a study and for a name that it lacks, with the nearest known one.
PlannedCell planned_cell(const std::string& folder, const std::string& name);

/// The result of a model whose loss became infinite or no number, and what was said of it; none of another result.
Json diverged_result(const std::string& what);
std::optional<std::string> divergence(const Json& result);

struct CellRun {
  std::string title;    ///< of the progress line
  int64_t jobs = 1;     ///< cells at a time, each in a process of its own
  int64_t threads = 1;  ///< of each
  bool quiet = false;   ///< no progress
};

/// Works off the cells that are not finished, in order, by `longspan study cell`, and calls `on_finished` with each
/// result as it comes, those of earlier runs first. The results in the order of the cells. Interrupted after a Ctrl-C,
/// when all processes have ended; what failed in one of them is thrown here, named.
std::vector<Json> run_cells(const CellFolder& folder, const std::vector<StudyCell>& cells, const CellRun& run,
                            const std::function<void(const StudyCell&, const Json& result)>& on_finished);

/// Told by a cell at work: steps done, and what it does in words.
using CellProgress = std::function<void(int64_t step, const std::string& what)>;

}  // namespace longspan::tool
