// What every study does: choose for each memory what is searched, then train one model for each seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/longspan/command.h"
#include "tools/longspan/result_folder.h"
#include "tools/longspan/study/cell_rows.h"
#include "tools/longspan/study/cells.h"
#include "tools/longspan/study/study_results.h"

namespace CLI {
class App;
}

namespace longspan::tool {

/// Flags that studies share.
struct StudyFlags {
  std::string out;
  std::vector<std::string> variants = {}, searches = {}, settings = {};
  int64_t seeds = 0, jobs = 0;
  bool overwrite = false, markdown = false;

  /// This outlives the parser. `out` is the default folder; `seeds`, `variants`: what their defaults are, in words.
  void add(CLI::App& app, const std::string& seeds, const std::string& variant, const std::string& setting);
  std::vector<SearchPoint> points() const;
  CellOutput output(const CommonOptions& common) const;
};

struct StudyPlan {
  std::vector<StudyVariant> variants;
  std::vector<SearchPoint> points;
  int64_t seeds = 1;
  /// The cell of a variant, at one point of the search, with seed number 0, 1, ...
  std::function<StudyCell(const StudyVariant&, const SearchPoint&, int64_t seed)> cell;
  /// What points are compared by: less is better.
  std::function<double(const Json& result)> loss;
};

/// Holds the folder of a study; finished cells of an earlier run stay, unless they are to be done again. `results`: the
/// files that this run will write.
class StudyFolder {
 public:
  StudyFolder(const StudyFlags& flags, const std::string& study, std::vector<std::string> results,
              const std::vector<std::string>& parts);

  /// Removes the results of an earlier run, which do not describe what this one writes. InputError, and they are as
  /// they were, when a finished cell is of another configuration than `plan` has.
  void begin(const StudyPlan& plan, const CellFolder& cells) const;

 private:
  std::string place_;
  std::vector<std::string> results_;
  ResultFolder folder_;
};

struct StudyOutcome {
  struct OfVariant {
    std::vector<SearchResult> search = {};  ///< of every point, when there are several
    SearchPoint chosen = {};
    std::vector<Json> results = {};  ///< of every seed, with that point

    /// Search, parameters and state.
    void describe(StudyModels& models) const;
  };
  std::vector<OfVariant> variants;
};

/// "NAME.learning_rate=0.004.seed0", and the same in words.
std::string cell_name(const StudyVariant& variant, const SearchPoint& point, int64_t seed);
std::string cell_label(const StudyVariant& variant, const SearchPoint& point, int64_t seed);

/// Searches with the first seed, where there is something to search, then runs every seed. A setting whose training
/// diverges is the worst of a search; a model of the comparison that does is a RunError. `rows` shows the cells that
/// count as they come in, not those of the search; `row`: what a row says of a result.
StudyOutcome run_study(const StudyPlan& plan, const CellFolder& folder, const CellRun& run, CellRows rows,
                       const std::function<std::vector<std::string>(const Json& result)>& row);

/// Of this machine and command line.
StudyConditions conditions_of(const CommonOptions& common, Json recipe);

/// How many cells are worked off at a time and how many threads each has: `jobs` 0: as many as there are threads.
CellRun cell_run(const CommonOptions& common, const std::string& title, int64_t jobs);

}  // namespace longspan::tool
