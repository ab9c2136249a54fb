// A text of the user's own, packed (io/text_file.h) or not, cut into a part to train on and a part that is held out.
#pragma once

#include <cstdint>
#include <string>

namespace longspan::tool {

/// Least bytes of a held-out text: one target block of 1,024 with some context.
inline constexpr int64_t kLeastHeldOut = 2048;
/// Least bytes of a text whose last tenth is held out.
inline constexpr int64_t kLeastOwnText = 10 * kLeastHeldOut;

/// Throws InputError, beginning with `command`, for what cannot be read or is shorter than `least` bytes.
void check_text(const std::string& command, const std::string& path, int64_t least);

struct SplitText {
  std::string train, held_out;  ///< paths
};

/// Cuts `path` at the last line break before 90 % (or there, where the line is very long) into two files of `folder`,
/// which is made.
SplitText split_text(const std::string& path, const std::string& folder);

/// `path`, or for an archive a file of `folder`, which is made, with its content.
std::string plain_text(const std::string& path, const std::string& folder);

}  // namespace longspan::tool
