#include "tools/longspan/study/study.h"

namespace longspan::tool {

const std::vector<Subcommand>& study_commands() {
  constexpr unsigned kRun = kJson | kQuiet | kThreads | kSeed;
  static const std::vector<Subcommand> table = {
      {"recall", "compare memories by what they can give back", set_up_study_recall, kRun},
      {"text", "compare memories on text, at equal parameters", set_up_study_text, kRun},
      {"cell", "work off one cell of a study", set_up_study_cell, kJson | kQuiet | kThreads | kVerbose},
  };
  return table;
}

}  // namespace longspan::tool
