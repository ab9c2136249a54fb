#include "longspan/data/document_index.h"

#include <bit>
#include <cstring>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

static_assert(std::endian::native == std::endian::little, "borders are little endian and are read as they lie");

namespace {
constexpr int64_t kEntry = sizeof(uint64_t);
}  // namespace

DocumentIndex::DocumentIndex(std::string path, int64_t tokens) : file_(std::move(path)), tokens_(tokens) {
  const auto bytes = static_cast<int64_t>(file_.bytes().size());
  LONGSPAN_CHECK(bytes > 0 && bytes % kEntry == 0, this->path(), ": ", bytes, " bytes are not a list of uint64");
  size_ = bytes / kEntry;
  LONGSPAN_CHECK(size_ <= tokens, this->path(), ": holds ", size_, " documents of only ", tokens, " tokens");
  LONGSPAN_CHECK(at(0) == 0, this->path(), ": the first document must begin at token 0, got ", at(0));
  check(size_ - 1);
}

int64_t DocumentIndex::at(int64_t i) const {
  if (i == size_) return tokens_;
  int64_t value;  // of 2^63 and more: negative, which no check lets pass
  std::memcpy(&value, file_.bytes().data() + i * kEntry, sizeof(value));
  return value;
}

void DocumentIndex::check(int64_t i) const {
  LONGSPAN_CHECK(i >= 0 && i < size_, path(), ": document ", i, " is asked for, it holds ", size_);
  const int64_t first = at(i), next = at(i + 1);
  LONGSPAN_CHECK(first >= 0 && first < next && next <= tokens_, path(), ": document ", i, " goes from token ", first,
                 " to ", next, ", which cannot be with ", tokens_, " tokens");
}

int64_t DocumentIndex::begin(int64_t i) const {
  check(i);
  return at(i);
}

int64_t DocumentIndex::end(int64_t i) const {
  check(i);
  return at(i + 1);
}

int64_t DocumentIndex::find(int64_t token) const {
  LONGSPAN_CHECK(token >= 0 && token < tokens_, path(), ": token ", token, " is asked for, the split has ", tokens_);
  int64_t low = 0, high = size_;  // at(low) <= token < at(high)
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (at(middle) <= token ? low : high) = middle;
  }
  check(low);
  return low;
}

}  // namespace longspan
