#include "longspan/train/data_identity.h"

#include <algorithm>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/io/fingerprint.h"

namespace longspan::train {

std::string identity_of(const TokenFile& tokens) {
  constexpr int64_t kPieces = 256, kPiece = 1024;
  const int64_t size = tokens.size(), piece = size <= kPieces * kPiece ? size : kPiece;
  const int64_t pieces = piece < size ? kPieces : 1;
  Fingerprint fingerprint;
  std::vector<int64_t> read(static_cast<std::size_t>(piece));
  for (int64_t i = 0; i < pieces; ++i) {
    // Divided first: a split may have more tokens than fit when multiplied.
    const int64_t begin = pieces > 1 ? std::min((size - piece) / (pieces - 1) * i, size - piece) : 0;
    tokens.copy_to(read.data(), i + 1 == pieces ? size - piece : begin, piece);
    fingerprint.add(read.data(), read.size() * sizeof(int64_t));
  }
  return str_cat(size, " tokens ", fingerprint.hex());
}

std::string validation_identity(const TrainData& data, const TrainOptions& options) {
  if (!data.valid) return "";
  return str_cat(identity_of(*data.valid), ", ", options.valid_blocks, " blocks of ", options.length,
                 has_borders(options) ? " within documents" : "");
}

}  // namespace longspan::train
