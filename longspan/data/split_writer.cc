#include "longspan/data/split_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/data/dataset_format.h"

namespace longspan {

namespace {
constexpr int64_t kBorder = sizeof(int64_t);
constexpr int64_t kCopyTokens = int64_t{1} << 16;
}  // namespace

SplitWriter::SplitWriter(const AtomicFolder& folder, const std::string& shown, const std::string& name,
                         const Tokenizer& tokenizer)
    : width_(size_of(token_type_for(tokenizer.vocabulary_size()))),
      tokens_(folder / tokens_file(name), shown + "/" + tokens_file(name)),
      borders_(folder / documents_file(name), shown + "/" + documents_file(name)) {
  if (!tokenizer.is_bytewise())
    map_ = std::make_unique<SourceMapWriter>(folder / source_file(name), folder / long_file(name),
                                             shown + "/" + source_file(name), shown + "/" + long_file(name));
}

void SplitWriter::append_border(int64_t token) { borders_.append(&token, sizeof(token)); }

int64_t SplitWriter::border(int64_t i) {
  int64_t token;
  borders_.read(i * kBorder, &token, sizeof(token));
  return token;
}

void SplitWriter::append(const std::vector<uint32_t>& tokens, const std::vector<uint32_t>& source_bytes) {
  if (tokens.empty()) return;
  if (std::exchange(begins_, false)) append_border(tokens_.size() / width_);
  buffer_.resize(tokens.size() * static_cast<std::size_t>(width_));
  char* out = buffer_.data();
  for (const uint32_t token : tokens)
    for (int64_t byte = 0; byte < width_; ++byte) *out++ = static_cast<char>(token >> (8 * byte));
  tokens_.append(buffer_.data(), buffer_.size());
  if (!map_) return;
  for (const uint32_t bytes : source_bytes) {
    if (held_ >= 0) map_->append(held_);
    held_ = bytes + std::exchange(silent_, 0);
  }
}

void SplitWriter::end_document() {
  if (map_ && held_ >= 0) map_->append(std::exchange(held_, -1) + silent_);
  silent_ = 0;
}

SplitInfo SplitWriter::info() const {
  const int64_t tokens = tokens_.size() / width_;
  return {tokens, map_ ? map_->bytes() : tokens, borders_.size() / kBorder};
}

int64_t SplitWriter::token_at(int64_t offset) {
  return map_ ? map_->token_at(offset) : std::clamp<int64_t>(offset, 0, tokens_.size() / width_);
}

void SplitWriter::move_tail(int64_t first, SplitWriter& to) {
  const int64_t count = tokens_.size() / width_, documents = borders_.size() / kBorder;
  for (int64_t at = first, part; at < count; at += part) {
    part = std::min(kCopyTokens, count - at);
    buffer_.resize(static_cast<std::size_t>(part * width_));
    tokens_.read(at * width_, buffer_.data(), buffer_.size());
    to.tokens_.append(buffer_.data(), buffer_.size());
    if (map_)
      for (const int64_t bytes : map_->read(at, part)) to.map_->append(bytes);
  }
  // The document that the cut goes through counts on both sides.
  int64_t low = 0, high = documents;  // documents before `low` begin before `first`, those from `high` on do not
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (border(middle) < first)
      low = middle + 1;
    else
      high = middle;
  }
  if (first < count && (low == documents || border(low) > first)) to.append_border(0);
  std::vector<int64_t> moved;
  for (int64_t i = low; i < documents; i += static_cast<int64_t>(moved.size())) {
    moved.resize(static_cast<std::size_t>(std::min(kCopyTokens, documents - i)));
    borders_.read(i * kBorder, moved.data(), moved.size() * sizeof(int64_t));
    for (const int64_t token : moved) to.append_border(token - first);
  }
  tokens_.truncate(first * width_);
  borders_.truncate(low * kBorder);
  if (map_) map_->truncate(first);
}

void SplitWriter::close() {
  tokens_.close();
  borders_.close();
  if (map_) map_->close();
}

}  // namespace longspan
