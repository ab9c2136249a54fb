// Ctrl-C: the first one asks for a clean end, a second one ends the program at once. SIGTERM counts as the first alone.
#pragma once

#include <exception>

namespace longspan::tool {

/// Ends a subcommand with exit status 130; whoever throws it has left nothing half-written.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Called once, before the subcommand runs.
void catch_interrupts();
bool interrupt_requested();
/// Throws Interrupted after a Ctrl-C. Long loops call it where they can stop.
void stop_if_interrupted();

}  // namespace longspan::tool
