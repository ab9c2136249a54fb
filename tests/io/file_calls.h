// The calls by which a program changes files, counted, and one of them made to fail or to be the program's last.
#pragma once

#include <cstdint>
#include <string>

namespace longspan {

/// What happens at the chosen call instead of it.
enum class FileFault {
  none,    ///< the calls are counted
  refuse,  ///< it fails with ENOSPC and does nothing
  kill     ///< the process is killed; a write has written half of its bytes by then
};

/// While it lives, every call of open (to create), write, fsync, rename, renameat2, link, symlink, mkdir, unlink,
/// unlinkat and rmdir of this process, from its libraries too, is counted, and number `at` (1 for the first) has the
/// fault. One at a time. Needs file_calls.cc in the test program itself, whose symbols stand before those of the C
/// library.
class FileCalls {
 public:
  explicit FileCalls(FileFault fault = FileFault::none, int64_t at = 0);
  ~FileCalls();
  FileCalls(const FileCalls&) = delete;
  FileCalls& operator=(const FileCalls&) = delete;

  int64_t count() const;
  /// Name of the call that had the fault, "" when it was not reached.
  std::string faulted() const;
};

}  // namespace longspan
