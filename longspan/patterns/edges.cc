#include "longspan/patterns/edges.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "longspan/base/pattern_view.h"

namespace longspan::patterns {

namespace {

constexpr std::string_view kBlanks = " \t\r";

/// Throws unless `value` can be a token; `place` is asked for only then.
void check_token(int64_t value, const char* what, std::optional<int64_t> n, const std::function<std::string()>& place) {
  if (value >= 0 && value < n.value_or(kMostTokens)) [[likely]]
    return;
  throw InputError(
      str_cat(place(), ": the ", what, " must be from 0 to ", n.value_or(kMostTokens) - 1, ", got ", value));
}

void check_length(std::optional<int64_t> n, const std::string& origin) {
  LONGSPAN_CHECK(!n || (*n >= 0 && *n <= kMostTokens), origin, ": the number of tokens must be from 0 to ", kMostTokens,
                 ", got ", n.value_or(0));
}

/// Packs a pair so that sorting numbers sorts by query, then by key.
uint64_t packed(int64_t query, int64_t key) { return static_cast<uint64_t>(query) << 32 | static_cast<uint64_t>(key); }

EdgeList from_packed(std::vector<uint64_t> pairs, std::optional<int64_t> n) {
  EdgeList out;
  out.n = n.value_or(0);
  if (!n)
    for (const uint64_t pair : pairs)
      out.n = std::max({out.n, static_cast<int64_t>(pair >> 32) + 1, static_cast<int64_t>(pair & 0xFFFFFFFF) + 1});
  const auto given = static_cast<int64_t>(pairs.size());
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  out.duplicates = given - static_cast<int64_t>(pairs.size());
  out.pairs = std::move(pairs);
  return out;
}

/// One number at the front of `line`, which it takes away with the blanks before it.
int64_t take_number(std::string_view& line, const std::function<std::string()>& place) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  int64_t value = 0;
  const auto result = std::from_chars(line.data(), line.data() + line.size(), value);
  LONGSPAN_CHECK(result.ec != std::errc::result_out_of_range, place(), ": ",
                 in_quotes(line.substr(0, static_cast<std::size_t>(result.ptr - line.data()))),
                 " is too large for a token");
  const auto taken = static_cast<std::size_t>(result.ptr - line.data());
  const bool ends = taken == line.size() || kBlanks.find(line[taken]) != std::string_view::npos || line[taken] == ',';
  LONGSPAN_CHECK(result.ec == std::errc() && ends, place(), ": expected two numbers, a query and a key");
  line.remove_prefix(taken);
  return value;
}

}  // namespace

std::span<const uint64_t> EdgeList::of_query(int64_t i) const {
  const auto first = std::lower_bound(pairs.begin(), pairs.end(), packed(i, 0));
  return {first, std::lower_bound(first, pairs.end(), packed(i + 1, 0))};
}

EdgeList edges_from_pairs(std::span<const int64_t> queries, std::span<const int64_t> keys, const std::string& origin,
                          std::optional<int64_t> n) {
  check_length(n, origin);
  LONGSPAN_CHECK(queries.size() == keys.size(), origin, ": ", queries.size(), " queries, but ", keys.size(), " keys");
  std::vector<uint64_t> pairs(queries.size());
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    const auto place = [&] { return str_cat(origin, ": pair ", e); };
    check_token(queries[e], "query", n, place);
    check_token(keys[e], "key", n, place);
    pairs[e] = packed(queries[e], keys[e]);
  }
  return from_packed(std::move(pairs), n);
}

EdgeList edges_from_csr(std::span<const int64_t> row_begin, std::span<const int64_t> keys, const std::string& origin,
                        std::optional<int64_t> n) {
  check_length(n, origin);
  LONGSPAN_CHECK(!row_begin.empty(), origin, ": the row pointers are empty; N + 1 are expected");
  const auto rows = static_cast<int64_t>(row_begin.size()) - 1;
  LONGSPAN_CHECK(rows <= kMostTokens, origin, ": ", rows, " rows; at most ", kMostTokens, " tokens are possible");
  LONGSPAN_CHECK(!n || *n == rows, origin, ": ", rows, " rows, but ", n.value_or(0), " tokens");
  LONGSPAN_CHECK(row_begin[0] == 0, origin, ": the first row pointer must be 0, got ", row_begin[0]);
  LONGSPAN_CHECK(row_begin.back() == static_cast<int64_t>(keys.size()), origin, ": the last row pointer must be ",
                 keys.size(), ", the number of keys, got ", row_begin.back());
  for (std::size_t i = 1; i < row_begin.size(); ++i)  // all of them, before one is followed
    LONGSPAN_CHECK(row_begin[i - 1] <= row_begin[i], origin, ": row pointer ", i, " is ", row_begin[i], ", less than ",
                   row_begin[i - 1], " before it");
  std::vector<uint64_t> pairs;
  pairs.reserve(keys.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t e = row_begin[static_cast<std::size_t>(i)]; e < row_begin[static_cast<std::size_t>(i) + 1]; ++e) {
      const int64_t key = keys[static_cast<std::size_t>(e)];
      check_token(key, "key", rows, [&] { return str_cat(origin, ": row ", i, ", entry ", e); });
      pairs.push_back(packed(i, key));
    }
  return from_packed(std::move(pairs), rows);
}

EdgeList parse_edges(std::string_view text, const std::string& origin, std::optional<int64_t> n) {
  check_length(n, origin);
  std::vector<uint64_t> pairs;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos || line[first] == '#') continue;

    const auto place = [&] { return str_cat(origin, ":", number); };
    const int64_t query = take_number(line, place);
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (!line.empty() && line.front() == ',') line.remove_prefix(1);
    const int64_t key = take_number(line, place);
    LONGSPAN_CHECK(line.find_first_not_of(kBlanks) == std::string_view::npos, place(),
                   ": expected two numbers, a query and a key, and nothing after them");
    check_token(query, "query", n, place);
    check_token(key, "key", n, place);
    pairs.push_back(packed(query, key));
  }
  return from_packed(std::move(pairs), n);
}

}  // namespace longspan::patterns
