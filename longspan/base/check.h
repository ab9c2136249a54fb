// Error types and checks.
//
// Two families: errors of the caller (InputError, RunError), which carry one clear line for a person,
// and failed assertions (InternalError), which are faults of longspan itself.
// Nothing here prints, aborts or exits; a program decides what to do with what it catches.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace longspan {

/// Base of every exception that longspan throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the caller passed is wrong: an argument, a flag, a file's content. A program exits with status 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The request was fine but could not be carried out: a full disk, a loss that is not finite. Exit status 1.
class RunError : public Error {
 public:
  using Error::Error;
};

/// An invariant of longspan does not hold. Exit status 1; please report it.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// Joins the arguments as `operator<<` writes them.
template <class... Args>
std::string str_cat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return std::move(out).str();
}

namespace internal {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line, const std::string& what);
}  // namespace internal

}  // namespace longspan

/// Throws InputError with the joined message unless `condition` holds. The message names the argument, the rule
/// and the value: `LONGSPAN_CHECK(w >= 1, "lavo: w must be at least 1, got ", w)`.
#define LONGSPAN_CHECK(condition, ...)                                         \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      throw ::longspan::InputError(::longspan::str_cat(__VA_ARGS__));          \
  } while (false)

/// Throws InternalError; for invariants that no caller can break.
#define LONGSPAN_ASSERT(condition, ...)                                                             \
  do {                                                                                              \
    if (!(condition)) [[unlikely]]                                                                  \
      ::longspan::internal::assertion_failed(#condition, __FILE__, __LINE__,                        \
                                             ::longspan::str_cat(__VA_ARGS__));                     \
  } while (false)

/// LONGSPAN_ASSERT in debug builds, nothing otherwise: for use inside loops.
#ifdef NDEBUG
#define LONGSPAN_DCHECK(condition, ...) \
  do {                                  \
  } while (false)
#else
#define LONGSPAN_DCHECK(condition, ...) LONGSPAN_ASSERT(condition, __VA_ARGS__)
#endif
