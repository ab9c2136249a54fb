// The files that paths on a command line stand for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "longspan/base/progress.h"

namespace longspan {

/// One file, pipe or standard input.
struct TextInput {
  std::string path;                        ///< "-": standard input
  int64_t size = -1;                       ///< bytes as it lies (packed, where it is), -1: a pipe
  bool found = false;                      ///< found in a folder, not named: it may be empty
  std::pair<uint64_t, uint64_t> identity;  ///< device and inode: equal for two paths of one file
};

/// Files, in the order of `paths`. A folder stands for the files in it and in the folders below, each folder's entries
/// sorted by the bytes of their names. Hidden entries (".name") are left out; so are links to folders, devices and
/// sockets, each with a message to `progress`; links to files are followed.
/// Throws InputError for what is missing, unreadable or a device, a folder without files, and a file that stands twice
/// (which would be trained on twice, or trained on and held out).
std::vector<TextInput> find_inputs(const std::vector<std::string>& paths, Progress& progress);

/// InputError when a file is among both.
void check_disjoint(const std::vector<TextInput>& inputs, const std::vector<TextInput>& held_out);

}  // namespace longspan
