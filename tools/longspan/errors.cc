#include "errors.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>

#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"

namespace longspan::tool {

namespace {

/// torch's message without the C++ stack that may follow on further lines.
std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

}  // namespace

int run_guarded(const std::function<void()>& action) {
  try {
    action();
    return exit_done;
  } catch (const Interrupted&) {
    log_error("interrupted");
    return exit_interrupted;
  } catch (const InputError& error) {
    log_error(error.what());
    return exit_wrong_input;
  } catch (const c10::ValueError& error) {
    log_error(first_line(error));
    return exit_wrong_input;
  } catch (const c10::Error& error) {
    log_error(first_line(error));
  } catch (const std::bad_alloc&) {
    log_error("out of memory");
  } catch (const std::exception& error) {
    log_error(error.what());
  }
  return exit_failed;
}

}  // namespace longspan::tool
