// From an exception to an exit status and one line on stderr.
#pragma once

#include <functional>

namespace longspan::tool {

enum ExitStatus { exit_done = 0, exit_failed = 1, exit_wrong_input = 2, exit_interrupted = 130, exit_closed = 141 };

/// Runs `action`. Whatever it throws becomes one line "longspan: ..." and the status of its family: 2 for InputError
/// (and torch's ValueError, and sizes that no tensor can have), 130 for Interrupted, 1 for everything else.
/// OutputClosed gives 141, as SIGPIPE would, and no line.
int run_guarded(const std::function<void()>& action);

}  // namespace longspan::tool
