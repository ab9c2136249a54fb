#include "longspan/patterns/pattern.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <utility>

#include "longspan/base/check.h"

namespace longspan::patterns {

namespace {

/// Mixes 8 bytes at a time, the last ones filled up with zeros.
class Hash {
 public:
  void add(int64_t value) {
    state_ = std::rotl((state_ ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15, 29) * 0xBF58476D1CE4E5B9;
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(static_cast<int64_t>(values.size()));
    const char* at = reinterpret_cast<const char*>(values.data());
    for (std::size_t left = values.size() * sizeof(T); left > 0;) {
      const std::size_t taken = std::min<std::size_t>(left, 8);
      int64_t word = 0;
      std::memcpy(&word, at, taken);
      add(word);
      at += taken;
      left -= taken;
    }
  }
  uint64_t value() const { return ((state_ ^ (state_ >> 32)) * 0x94D049BB133111EB) ^ (state_ >> 29); }

 private:
  uint64_t state_ = 0x243F6A8885A308D3;
};

uint64_t hash_of(const PatternParts& parts) {
  Hash hash;
  for (const int64_t value : {parts.n, int64_t{parts.causal}, parts.block}) hash.add(value);
  for (const auto* values : {&parts.band_begin, &parts.band_end, &parts.dense_rows, &parts.dense_columns,
                             &parts.blocks.keys, &parts.rest.keys})
    hash.add(*values);
  hash.add(parts.blocks.begin);
  hash.add(parts.rest.begin);
  return hash.value();
}

PieceCounts counts_of(const PatternParts& parts) {
  PieceCounts counts;
  const PatternView view = parts.view();
  for (const int32_t i : parts.dense_rows) counts.dense_rows += view.dense_row_end(i);
  for (std::size_t i = 0; i < parts.band_begin.size(); ++i) counts.band += parts.band_end[i] - parts.band_begin[i];
  for (std::size_t i = 0; i < parts.column_left.size(); ++i)
    counts.dense_columns += parts.column_left[i] + parts.column_end[i] - parts.column_right[i];
  const auto width = [&](int64_t number) {
    return std::min(parts.n, (number + 1) * parts.block) - number * parts.block;
  };
  for (int64_t c = 0; c < parts.blocks.rows(); ++c)
    for (const int64_t e : view.blocks.row(c)) counts.blocks += width(c) * width(e);
  counts.rest = parts.rest.size();
  return counts;
}

template <class T>
int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T));
}
int64_t bytes_of(const Csr& csr) { return bytes_of(csr.begin) + bytes_of(csr.keys); }

struct Transposed {
  std::vector<int32_t> band_begin, band_end;
  TransposedCsr blocks, rest;
};

/// Both ends of the band ascend, so the queries that see a key are neighbours: one walk for each end.
void transpose_band(const PatternParts& parts, Transposed& out) {
  const auto n = static_cast<std::size_t>(parts.n);
  out.band_begin.resize(n);
  out.band_end.resize(n);
  const auto empty = [&](std::size_t i) { return parts.band_begin[i] == parts.band_end[i]; };
  for (std::size_t key = 0, i = 0; key < n; ++key) {  // the first query whose interval ends after the key
    while (i < n && (empty(i) || parts.band_end[i] <= static_cast<int32_t>(key))) ++i;
    out.band_begin[key] = static_cast<int32_t>(i);
  }
  for (std::size_t key = n, i = n; key-- > 0;) {  // behind the last query whose interval begins before or at the key
    while (i > 0 && (empty(i - 1) || parts.band_begin[i - 1] > static_cast<int32_t>(key))) --i;
    out.band_end[key] = std::max(static_cast<int32_t>(i), out.band_begin[key]);
  }
}

}  // namespace

PatternView PatternParts::view() const {
  PatternView out;
  out.n = n;
  out.causal = causal;
  out.band_begin = band_begin.data();
  out.band_end = band_end.data();
  out.dense_rows = dense_rows.data();
  out.dense_row_count = static_cast<int64_t>(dense_rows.size());
  out.dense_columns = dense_columns.data();
  out.dense_column_count = static_cast<int64_t>(dense_columns.size());
  if (!dense_columns.empty()) {
    out.column_left = column_left.data();
    out.column_right = column_right.data();
    out.column_end = column_end.data();
  }
  out.block = block;
  out.blocks = blocks.view();
  out.rest = rest.view();
  return out;
}

struct Pattern::Shared {
  Shared(PatternParts given, std::vector<int32_t> tokens)
      : parts(std::move(given)), order(std::move(tokens)), counts(counts_of(parts)), identity(hash_of(parts)) {}

  const PatternParts parts;
  const std::vector<int32_t> order;
  const PieceCounts counts;
  const uint64_t identity;
  std::once_flag once;
  Transposed transposed;
  std::atomic<int64_t> transposed_bytes{0};
};

Pattern::Pattern() : Pattern(PatternParts()) {}

Pattern::Pattern(PatternParts parts, std::vector<int32_t> order) {
  const auto n = static_cast<std::size_t>(parts.n);
  LONGSPAN_ASSERT(parts.band_begin.size() == n && parts.band_end.size() == n && parts.rest.rows() == parts.n,
                  "arrays of a pattern of ", parts.n, " tokens");
  LONGSPAN_ASSERT(parts.column_left.size() == (parts.dense_columns.empty() ? 0 : n), "dense columns of a pattern");
  LONGSPAN_ASSERT(order.empty() || (order.size() == n && parts.view().may_have_order()), "order of a pattern of ",
                  parts.n, " tokens");
  shared_ = std::make_shared<Shared>(std::move(parts), std::move(order));
}

int64_t Pattern::size() const { return shared_->parts.n; }
bool Pattern::causal() const { return shared_->parts.causal; }
PatternView Pattern::view() const {
  PatternView out = shared_->parts.view();
  if (!shared_->order.empty()) out.order = shared_->order.data();
  return out;
}
const PieceCounts& Pattern::counts() const { return shared_->counts; }
uint64_t Pattern::identity() const { return shared_->identity; }

double Pattern::density() const {
  const auto n = static_cast<double>(size());
  return n == 0 ? 0 : static_cast<double>(pairs()) / (n * n);
}

bool Pattern::operator==(const Pattern& other) const {
  return shared_ == other.shared_ ||
         (shared_->identity == other.shared_->identity && shared_->parts == other.shared_->parts);
}

bool Pattern::contains(int64_t query, int64_t key) const {
  LONGSPAN_CHECK(query >= 0 && query < size() && key >= 0 && key < size(), "pattern: the pair (", query, ", ", key,
                 ") is outside ", size(), " tokens");
  const PatternView p = view();
  if (p.is_dense_row(query)) return key < p.dense_row_end(query);
  if (key >= p.band_begin[query] && key < p.band_end[query]) return true;
  const auto wanted = static_cast<int32_t>(key);
  if (p.dense_column_count > 0 && std::binary_search(p.dense_columns, p.dense_columns + p.column_end[query], wanted))
    return true;
  const auto listed = [](std::span<const int32_t> keys, int64_t what) {
    return std::binary_search(keys.begin(), keys.end(), static_cast<int32_t>(what));
  };
  return (p.block > 0 && listed(p.blocks.row(query / p.block), key / p.block)) || listed(p.rest.row(query), key);
}

TransposedPatternView Pattern::transposed(const Parallel& parallel) const {
  Shared& shared = *shared_;
  std::call_once(shared.once, [&] {
    const PatternParts& parts = shared.parts;
    Transposed& out = shared.transposed;
    transpose_band(parts, out);
    const int64_t block_columns = parts.block > 0 ? (parts.n + parts.block - 1) / parts.block : 0;
    out.blocks = transpose(parts.blocks.view(), block_columns);
    out.rest = transpose(parts.rest.view(), parts.n, parallel);
    shared.transposed_bytes = bytes_of(out.band_begin) + bytes_of(out.band_end) + bytes_of(out.blocks.rows) +
                              bytes_of(out.blocks.edges) + bytes_of(out.rest.rows) + bytes_of(out.rest.edges);
  });
  const Transposed& t = shared.transposed;
  return {t.band_begin.data(), t.band_end.data(), t.blocks.rows.view(), t.rest.rows.view(), t.rest.edges.data()};
}

int64_t Pattern::bytes() const {
  const PatternParts& parts = shared_->parts;
  int64_t total = bytes_of(parts.blocks) + bytes_of(parts.rest) + bytes_of(shared_->order) + shared_->transposed_bytes;
  for (const auto* values : {&parts.band_begin, &parts.band_end, &parts.dense_rows, &parts.dense_columns,
                             &parts.column_left, &parts.column_right, &parts.column_end})
    total += bytes_of(*values);
  return total;
}

Csr Pattern::csr(const Parallel& parallel) const {
  const PatternView p = view();
  Csr out;
  out.begin.resize(static_cast<std::size_t>(p.n) + 1);
  for (int64_t i = 0; i < p.n; ++i) {
    int64_t count = 0;
    for_each_run(p, i, [&](PatternPiece, int64_t begin, int64_t end) { count += end - begin; });
    out.begin[static_cast<std::size_t>(i) + 1] = out.begin[static_cast<std::size_t>(i)] + count;
  }
  out.keys.resize(static_cast<std::size_t>(out.begin.back()));
  constexpr int64_t kRows = 256;
  parallel.run((p.n + kRows - 1) / kRows, [&](int64_t task, int) {
    for (int64_t i = task * kRows; i < std::min((task + 1) * kRows, p.n); ++i) {
      int32_t* const first = out.keys.data() + out.begin[static_cast<std::size_t>(i)];
      int32_t* at = first;
      for_each_run(p, i, [&](PatternPiece, int64_t begin, int64_t end) {
        for (int64_t key = begin; key < end; ++key) *at++ = static_cast<int32_t>(key);
      });
      std::sort(first, at);
    }
  });
  return out;
}

}  // namespace longspan::patterns
