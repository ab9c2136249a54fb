// How small general compressors make a text: a yardstick that everybody has.
#pragma once

#include <map>
#include <string>

namespace longspan::tool {

/// Bits per byte of the file under "gzip -9" and "xz -9", run here and now. A program that is not installed is left
/// out.
std::map<std::string, double> compressor_rates(const std::string& path);

}  // namespace longspan::tool
