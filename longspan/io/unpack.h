// Reading gzip, xz and zstd archives.
#pragma once

#include <memory>
#include <string>

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

}  // namespace longspan
