#include "tools/longspan/recall/recall.h"

namespace longspan::tool {

const std::vector<Subcommand>& recall_commands() {
  constexpr unsigned kRun = kJson | kQuiet | kThreads | kSeed | kVerbose;
  static const std::vector<Subcommand> table = {
      {"train", "train a model to answer from what stands far back", set_up_recall_train, kRun},
      {"eval", "how many answers of a model are right, by pairs and length", set_up_recall_eval, kRun},
      {"show", "rows of the task as text", set_up_recall_show, kJson | kSeed},
  };
  return table;
}

}  // namespace longspan::tool
