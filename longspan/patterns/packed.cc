#include "longspan/patterns/packed.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "longspan/base/check.h"

namespace longspan::patterns {

namespace {

constexpr int32_t kMagic = 0x5450534C;  // "LSPT"
constexpr int32_t kVersion = 1;
constexpr int32_t kCausal = 1, kOrdered = 2;

struct Header {
  int32_t magic = kMagic, version = kVersion;
  int32_t n = 0, flags = 0;
  int32_t dense_rows = 0, dense_columns = 0;
  int32_t block = 0;
  uint32_t blocks[2] = {}, rest[2] = {};  ///< entries; low word first
  uint32_t sum[2] = {};                   ///< check_sum() of all words with these two set to zero
  int32_t unused = 0;
};
constexpr std::size_t kHeaderWords = sizeof(Header) / sizeof(int32_t);
static_assert(sizeof(Header) % 8 == 0);

void set(uint32_t (&words)[2], uint64_t value) {
  words[0] = static_cast<uint32_t>(value);
  words[1] = static_cast<uint32_t>(value >> 32);
}
uint64_t get(const uint32_t (&words)[2]) { return words[0] | (uint64_t{words[1]} << 32); }

/// Four chains, so that their multiplications overlap. Every step is one to one in the word it takes and in the state,
/// so that no single word can change unnoticed.
uint64_t check_sum(const Header& header, std::span<const int32_t> body) {
  uint64_t state[4] = {0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89};
  const auto add = [&](const char* at, std::size_t bytes) {
    for (; bytes >= sizeof(state); at += sizeof(state), bytes -= sizeof(state)) {
      uint64_t words[4];
      std::memcpy(words, at, sizeof(words));
      for (std::size_t lane = 0; lane < 4; ++lane)
        state[lane] = std::rotl((state[lane] ^ words[lane]) * 0x9E3779B97F4A7C15, 29);
    }
    std::size_t lane = 0;
    for (; bytes > 0; lane = (lane + 1) % 4) {
      uint64_t word = 0;
      const std::size_t taken = std::min<std::size_t>(bytes, 8);
      std::memcpy(&word, at, taken);
      state[lane] = std::rotl((state[lane] ^ word) * 0x9E3779B97F4A7C15, 29);
      at += taken;
      bytes -= taken;
    }
  };
  add(reinterpret_cast<const char*>(&header), sizeof(header));
  add(reinterpret_cast<const char*>(body.data()), body.size_bytes());
  uint64_t sum = 0;
  for (const uint64_t one : state) sum = std::rotl((sum ^ one) * 0xBF58476D1CE4E5B9, 31);
  return sum;
}

class Writer {
 public:
  void add(const int32_t* values, int64_t count) { words_.insert(words_.end(), values, values + count); }
  void add(const CsrView& lists, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) words_.push_back(static_cast<int32_t>(lists.begin[r + 1] - lists.begin[r]));
    add(lists.keys, lists.size());
  }
  std::vector<int32_t>& words() { return words_; }

 private:
  std::vector<int32_t> words_ = std::vector<int32_t>(kHeaderWords);
};

int64_t block_rows(int64_t n, int64_t block) { return block > 0 ? (n + block - 1) / block : 0; }

// The constructor says where the words are from.
[[noreturn]] void refuse(const std::string& what) {
  throw InputError("expected a pattern as longspan::pattern makes it, got " + what);
}
void require(bool condition, const char* what) {
  if (!condition) refuse(str_cat("one whose ", what, " cannot be"));
}

Header header_of(std::span<const int32_t> words) {
  Header header;
  if (words.size() < kHeaderWords) refuse(str_cat(words.size(), " words"));
  std::memcpy(static_cast<void*>(&header), words.data(), sizeof(header));
  if (header.magic != kMagic) refuse("other numbers");
  if (header.version != kVersion) refuse(str_cat("one of version ", header.version));
  return header;
}

class Reader {
 public:
  explicit Reader(std::span<const int32_t> left) : left_(left) {}

  const int32_t* take(int64_t count) {
    require(count >= 0 && count <= static_cast<int64_t>(left_.size()), "sizes");
    const int32_t* const at = left_.data();
    left_ = left_.subspan(static_cast<std::size_t>(count));
    return at;
  }
  /// `begin` receives the first element of each list.
  CsrView take_lists(int64_t rows, int64_t entries, std::vector<int64_t>& begin) {
    const int32_t* const lengths = take(rows);
    begin.resize(static_cast<std::size_t>(rows) + 1);
    begin[0] = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      require(lengths[r] >= 0, "lists");
      begin[r + 1] = begin[r] + lengths[r];
    }
    require(begin.back() == entries, "lists");
    return {rows, begin.data(), take(entries)};
  }
  bool done() const { return left_.empty(); }

 private:
  std::span<const int32_t> left_;
};

void check_ascending(const int32_t* values, int64_t count, int64_t end, const char* what) {
  for (int64_t a = 0; a < count; ++a)
    require(values[a] >= (a == 0 ? 0 : int64_t{values[a - 1]} + 1) && values[a] < end, what);
}

/// Every list ascends within [0, end(row)).
template <class End>
void check_lists(const CsrView& lists, const End& end, const char* what) {
  for (int64_t r = 0; r < lists.rows; ++r)
    check_ascending(lists.keys + lists.begin[r], lists.begin[r + 1] - lists.begin[r], end(r), what);
}

/// Intervals [begin, end) of [0, limit(i)), both ends ascending over those i that `listed` has.
template <class Limit, class Listed>
void check_intervals(const int32_t* begin, const int32_t* end, int64_t n, const Limit& limit, const Listed& listed,
                     const char* what) {
  int32_t before[2] = {0, 0};
  for (int64_t i = 0; i < n; ++i) {
    require(begin[i] >= 0 && begin[i] <= end[i] && end[i] <= limit(i), what);
    if (!listed(i)) continue;
    require(begin[i] >= before[0] && end[i] >= before[1], what);
    before[0] = begin[i];
    before[1] = end[i];
  }
}

/// Walks through the dense rows with i, which must ascend.
class DenseRows {
 public:
  explicit DenseRows(const PatternView& p) : at_(p.dense_rows), end_(p.dense_rows + p.dense_row_count) {}
  bool operator()(int64_t i) {
    while (at_ != end_ && *at_ < i) ++at_;
    return at_ != end_ && *at_ == i;
  }

 private:
  const int32_t *at_, *end_;
};

void check_columns(const PatternView& p) {
  DenseRows dense(p);
  int32_t before[2] = {0, 0};
  for (int64_t i = 0; i < p.n; ++i) {
    const int32_t left = p.column_left[i], right = p.column_right[i], end = p.column_end[i];
    require(left >= 0 && left <= right && right <= end && end <= p.dense_column_count, "dense columns");
    if (dense(i)) {
      require(left == 0 && right == end, "dense columns");
      continue;
    }
    require(left >= before[0] && right >= before[1], "dense columns");
    before[0] = left;
    before[1] = right;
    // In between the band has them.
    require(left == 0 || p.dense_columns[left - 1] < p.band_begin[i] || p.band_begin[i] == p.band_end[i],
            "dense columns");
    require(right == end || p.dense_columns[right] >= p.band_end[i], "dense columns");
    const int32_t last = end > right ? end - 1 : left - 1;
    require(!p.causal || last < 0 || p.dense_columns[last] <= i, "dense columns");
  }
}

/// Every token once.
void check_order(const int32_t* order, int64_t n) {
  std::vector<char> seen(static_cast<std::size_t>(n));
  for (int64_t place = 0; place < n; ++place) {
    require(order[place] >= 0 && order[place] < n && seen[static_cast<std::size_t>(order[place])] == 0, "order");
    seen[static_cast<std::size_t>(order[place])] = 1;
  }
}

void check_pieces(const PatternView& p) {
  check_ascending(p.dense_rows, p.dense_row_count, p.n, "dense rows");
  check_ascending(p.dense_columns, p.dense_column_count, p.n, "dense columns");
  DenseRows in_band(p);
  check_intervals(
      p.band_begin, p.band_end, p.n, [&](int64_t i) { return p.dense_row_end(i); },
      [&](int64_t i) { return !in_band(i); }, "band");
  DenseRows in_rest(p);
  for (int64_t i = 0; i < p.n; ++i)
    require(!in_rest(i) || (p.band_begin[i] == p.band_end[i] && p.rest.begin[i] == p.rest.begin[i + 1]), "dense rows");
  if (p.dense_column_count > 0) check_columns(p);
  check_lists(
      p.blocks, [&](int64_t c) { return p.causal ? c : p.blocks.rows; }, "blocks");
  check_lists(
      p.rest, [&](int64_t i) { return p.causal ? i + 1 : p.n; }, "rest");
  if (p.order == nullptr) return;
  require(p.may_have_order(), "order");
  check_order(p.order, p.n);
}

/// Of each key's interval the first and the last query that is no dense row have the key in their band: then so have
/// those in between, whose limits ascend.
void check_transposed_band(const PatternView& p, const TransposedPatternView& t) {
  check_intervals(
      t.band_begin, t.band_end, p.n, [&](int64_t) { return p.n; }, [](int64_t) { return true; }, "transposed band");
  const auto n = static_cast<std::size_t>(p.n);
  std::vector<int32_t> next(n + 1), last(n + 1);  // the next such query from i on, the last one before i
  std::vector<char> dense(n);
  for (int64_t a = 0; a < p.dense_row_count; ++a) dense[static_cast<std::size_t>(p.dense_rows[a])] = 1;
  next[n] = static_cast<int32_t>(n);
  for (std::size_t i = n; i-- > 0;) next[i] = dense[i] ? next[i + 1] : static_cast<int32_t>(i);
  last[0] = -1;
  for (std::size_t i = 0; i < n; ++i) last[i + 1] = dense[i] ? last[i] : static_cast<int32_t>(i);
  for (int64_t key = 0; key < p.n; ++key) {
    const int32_t first = next[static_cast<std::size_t>(t.band_begin[key])];
    const int32_t end = last[static_cast<std::size_t>(t.band_end[key])];
    require(first > end || (p.band_end[first] > key && p.band_begin[end] <= key), "transposed band");
  }
}

void check_transposed(const PatternView& p, const TransposedPatternView& t) {
  check_transposed_band(p, t);
  check_lists(
      t.blocks, [&](int64_t) { return p.blocks.rows; }, "transposed blocks");
  for (int64_t e = 0; e < t.blocks.rows; ++e)
    for (const int32_t c : t.blocks.row(e)) {
      const auto row = p.blocks.row(c);
      require(std::binary_search(row.begin(), row.end(), static_cast<int32_t>(e)), "transposed blocks");
    }
  check_lists(
      t.rest, [&](int64_t) { return p.n; }, "transposed rest");
  // A kernel takes the number of a pair as a place among its query's weights, which may be all that it has formed.
  for (int64_t key = 0; key < t.rest.rows; ++key)
    for (int64_t e = t.rest.begin[key]; e < t.rest.begin[key + 1]; ++e) {
      const int64_t query = t.rest.keys[e], edge = t.rest_edges[e];
      require(edge >= p.rest.begin[query] && edge < p.rest.begin[query + 1] && p.rest.keys[edge] == key,
              "transposed rest");
    }
}

}  // namespace

std::vector<int32_t> pack(const Pattern& pattern, const Parallel& parallel) {
  const PatternView p = pattern.view();
  const TransposedPatternView t = pattern.transposed(parallel);
  const int64_t blocks = block_rows(p.n, p.block);
  Header header;
  header.n = static_cast<int32_t>(p.n);
  header.flags = (p.causal ? kCausal : 0) | (p.order != nullptr ? kOrdered : 0);
  header.dense_rows = static_cast<int32_t>(p.dense_row_count);
  header.dense_columns = static_cast<int32_t>(p.dense_column_count);
  header.block = static_cast<int32_t>(std::min(p.block, kMostTokens));
  set(header.blocks, static_cast<uint64_t>(p.blocks.size()));
  set(header.rest, static_cast<uint64_t>(p.rest.size()));
  Writer out;
  out.words().reserve(kHeaderWords + static_cast<std::size_t>(10 * p.n + p.dense_row_count + p.dense_column_count +
                                                              2 * (blocks + p.blocks.size()) + 3 * p.rest.size()));
  out.add(p.band_begin, p.n);
  out.add(p.band_end, p.n);
  out.add(p.dense_rows, p.dense_row_count);
  out.add(p.dense_columns, p.dense_column_count);
  if (p.dense_column_count > 0)
    for (const int32_t* column : {p.column_left, p.column_right, p.column_end}) out.add(column, p.n);
  out.add(p.blocks, blocks);
  out.add(p.rest, p.n);
  if (p.order != nullptr) out.add(p.order, p.n);
  out.add(t.band_begin, p.n);
  out.add(t.band_end, p.n);
  out.add(t.blocks, blocks);
  out.add(t.rest, p.n);
  out.add(reinterpret_cast<const int32_t*>(t.rest_edges), p.rest.size());
  std::vector<int32_t>& words = out.words();
  set(header.sum, check_sum(header, std::span<const int32_t>(words).subspan(kHeaderWords)));
  std::memcpy(words.data(), &header, sizeof(header));
  return std::move(words);
}

PackedPattern::PackedPattern(std::span<const int32_t> words, const std::string& origin) try {
  Header header = header_of(words);
  const std::span<const int32_t> body = words.subspan(kHeaderWords);
  const uint64_t sum = get(header.sum);
  set(header.sum, 0);
  if (check_sum(header, body) != sum) refuse("one that was changed");
  require((header.flags & ~(kCausal | kOrdered)) == 0 && header.unused == 0, "header");
  require(header.n >= 0 && header.dense_rows >= 0 && header.dense_columns >= 0 && header.block >= 0, "sizes");
  const auto entries = [&](const uint32_t(&count)[2]) {
    require(get(count) <= words.size(), "sizes");
    return static_cast<int64_t>(get(count));
  };
  const int64_t n = header.n, blocks = block_rows(n, header.block);
  Reader in(body);
  PatternView& p = view_;
  p.n = n;
  p.causal = (header.flags & kCausal) != 0;
  p.band_begin = in.take(n);
  p.band_end = in.take(n);
  p.dense_rows = in.take(p.dense_row_count = header.dense_rows);
  p.dense_columns = in.take(p.dense_column_count = header.dense_columns);
  if (p.dense_column_count > 0)
    for (const int32_t** column : {&p.column_left, &p.column_right, &p.column_end}) *column = in.take(n);
  p.block = header.block;
  p.blocks = in.take_lists(blocks, entries(header.blocks), block_begin_);
  p.rest = in.take_lists(n, entries(header.rest), rest_begin_);
  if ((header.flags & kOrdered) != 0) p.order = in.take(n);
  TransposedPatternView& t = transposed_;
  t.band_begin = in.take(n);
  t.band_end = in.take(n);
  t.blocks = in.take_lists(blocks, p.blocks.size(), transposed_block_begin_);
  t.rest = in.take_lists(n, p.rest.size(), transposed_rest_begin_);
  t.rest_edges = reinterpret_cast<const uint32_t*>(in.take(p.rest.size()));
  require(in.done(), "sizes");
  check_pieces(p);
  check_transposed(p, t);
} catch (const InputError& error) {
  throw InputError(origin + ": " + error.what());
}

std::optional<uint64_t> intact_sum(std::span<const int32_t> words) {
  Header header;
  if (words.size() < kHeaderWords) return std::nullopt;
  std::memcpy(static_cast<void*>(&header), words.data(), sizeof(header));
  const uint64_t sum = get(header.sum);
  set(header.sum, 0);
  if (check_sum(header, words.subspan(kHeaderWords)) != sum) return std::nullopt;
  return sum;
}

Pattern PackedPattern::pattern() const {
  const PatternView& p = view_;
  const auto array = [](const int32_t* values, int64_t count) { return std::vector<int32_t>(values, values + count); };
  const auto lists = [&](const CsrView& csr) {
    return Csr{std::vector<int64_t>(csr.begin, csr.begin + csr.rows + 1), array(csr.keys, csr.size())};
  };
  PatternParts parts;
  parts.n = p.n;
  parts.causal = p.causal;
  parts.band_begin = array(p.band_begin, p.n);
  parts.band_end = array(p.band_end, p.n);
  parts.dense_rows = array(p.dense_rows, p.dense_row_count);
  parts.dense_columns = array(p.dense_columns, p.dense_column_count);
  if (p.dense_column_count > 0) {
    parts.column_left = array(p.column_left, p.n);
    parts.column_right = array(p.column_right, p.n);
    parts.column_end = array(p.column_end, p.n);
  }
  parts.block = p.block;
  if (p.block > 0) parts.blocks = lists(p.blocks);
  parts.rest = lists(p.rest);
  return Pattern(std::move(parts), p.order != nullptr ? array(p.order, p.n) : std::vector<int32_t>());
}

void internal::forge_check_sum(std::span<int32_t> words) {
  Header header = header_of(words);
  set(header.sum, 0);
  set(header.sum, check_sum(header, words.subspan(kHeaderWords)));
  std::memcpy(words.data(), &header, sizeof(header));
}

}  // namespace longspan::patterns
