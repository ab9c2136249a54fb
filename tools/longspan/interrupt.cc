#include "interrupt.h"

#include <unistd.h>

#include <csignal>

namespace longspan::tool {

namespace {

volatile std::sig_atomic_t requested = 0;

void on_signal(int signal) {
  // A launcher of several processes passes SIGTERM on to those that a Ctrl-C has reached already.
  if (requested && signal == SIGINT) _exit(130);
  requested = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A closed pipe or a file over its limit is then an error of the write that meets it, with a message and a status.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupt_requested() { return requested != 0; }

void stop_if_interrupted() {
  if (interrupt_requested()) throw Interrupted();
}

}  // namespace longspan::tool
