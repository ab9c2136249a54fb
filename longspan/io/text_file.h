// A text file as users have it: packed or not.
#pragma once

#include <functional>
#include <string>

#include "longspan/io/mapped_file.h"

namespace longspan {

/// The text of a regular file: its bytes where they lie; of a gzip, xz or zstd archive (io/unpack.h) the content,
/// unpacked into a file without a name in the folder for temporary files, which goes with the mapping. `working` is
/// called while unpacking goes on and may throw to give up.
/// Throws what MappedFile and unpacked() throw, and RunError when the content has no room.
MappedFile map_text(const std::string& path, const std::function<void()>& working = {});

}  // namespace longspan
