// Reading gzip, xz and zstd archives.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "longspan/io/byte_source.h"

namespace longspan {

/// The content of `source`, which must outlive the result: unpacked when it begins like a gzip, xz or zstd archive,
/// whatever its name; anything else as it is. Archives may be joined one after the other (`cat a.gz b.gz`), and are
/// checked against the sums they carry. Memory is that of the archive's own window, at most 2 GiB.
///
/// `name` is for messages. InputError, here or when reading comes to it: an archive that is damaged or ends too early,
/// a name with one of the three endings on something else, and other packed formats (zip, bzip2, lz4, 7z, tar), which
/// nobody means to read as text.
///
/// The libraries of the formats themselves are used, not libarchive: that one does not check the sums of gzip.
std::unique_ptr<ByteSource> unpacked(ByteSource& source, const std::string& name);

/// Bytes that tell every format.
inline constexpr std::size_t kPackingHead = 512;

/// Whether unpacked() would do anything but hand on a source that begins with `head` (all of it, or kPackingHead
/// bytes), for those who can read the plain bytes where they lie.
bool may_be_packed(std::string_view head, const std::string& name);

/// What the first bytes of a stream say to somebody who must not read ahead.
enum class Packing {
  none,       ///< no format begins so
  some,       ///< unpacked() unpacks it or refuses it
  undecided,  ///< more bytes would tell
};

/// Of a stream that begins with `head`. A few bytes decide: the formats whose mark comes later (bzip2, tar) are not
/// looked for.
Packing packing_of(std::string_view head);

}  // namespace longspan
