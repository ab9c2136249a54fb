#include "tools/longspan/task/task.h"

namespace longspan::tool {

const std::vector<Subcommand>& task_commands() {
  constexpr unsigned kModel = kJson | kQuiet | kThreads | kDtype | kDevice | kVerbose;
  static const std::vector<Subcommand> table = {
      {"train", "train an encoder on examples of a task", set_up_task_train, kModel | kSeed},
      {"eval", "measure a model of a task on examples", set_up_task_eval, kModel | kSeed},
      {"predict", "let a model of a task say what it thinks, as JSON Lines", set_up_task_predict, kModel},
  };
  return table;
}

}  // namespace longspan::tool
