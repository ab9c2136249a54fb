#include "errors.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <stdexcept>

#include "interrupt.h"
#include "log.h"
#include "longspan/base/check.h"
#include "output.h"
#include "torch_error.h"

namespace longspan::tool {

int run_guarded(const std::function<void()>& action) {
  try {
    action();
    return exit_done;
  } catch (const Interrupted&) {
    log_error("interrupted");
    return exit_interrupted;
  } catch (const OutputClosed&) {
    return exit_closed;
  } catch (const InputError& error) {
    log_error(error.what());
    return exit_wrong_input;
  } catch (const c10::Error& error) {
    const Reported reported = report_torch_error(error.what_without_backtrace());
    log_error(reported.line);
    return dynamic_cast<const c10::ValueError*>(&error) ? exit_wrong_input : reported.status;
  } catch (const std::bad_alloc&) {
    log_error("out of memory");
  } catch (const std::length_error&) {  // of a container: what it says is for programmers
    log_error("out of memory: more was asked for than the machine can address");
  } catch (const std::exception& error) {
    log_error(error.what());
  }
  return exit_failed;
}

}  // namespace longspan::tool
