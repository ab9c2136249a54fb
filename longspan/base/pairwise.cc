#include "longspan/base/pairwise.h"

#include <set>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {
namespace {

using Allowed = std::function<bool(const Assignment&)>;
/// A factor with a value.
using Choice = std::pair<std::size_t, std::size_t>;
/// Two choices, the lower factor first, that no assignment holds yet.
using Pairs = std::set<std::pair<Choice, Choice>>;

std::pair<Choice, Choice> ordered(const Choice& a, const Choice& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

/// The first way to set every factor that `row` leaves open, or false.
bool complete(Assignment& row, const Allowed& allowed, const std::vector<std::size_t>& sizes) {
  if (!allowed(row)) return false;
  for (std::size_t f = 0; f < row.size(); ++f) {
    if (row[f] != kUnset) continue;
    for (row[f] = 0; row[f] < sizes[f]; ++row[f])
      if (complete(row, allowed, sizes)) return true;
    row[f] = kUnset;
    return false;
  }
  return true;
}

bool can_complete(Assignment row, const Allowed& allowed, const std::vector<std::size_t>& sizes) {
  return complete(row, allowed, sizes);
}

/// Number of open pairs that `choice` would close beside what `row` holds.
std::size_t gain(const Pairs& open, const Assignment& row, const Choice& choice) {
  std::size_t count = 0;
  for (std::size_t f = 0; f < row.size(); ++f)
    if (row[f] != kUnset) count += open.count(ordered({f, row[f]}, choice));
  return count;
}

void close(Pairs& open, const Assignment& row) {
  for (std::size_t f = 0; f < row.size(); ++f)
    for (std::size_t g = f + 1; g < row.size(); ++g) open.erase({{f, row[f]}, {g, row[g]}});
}

Pairs all_pairs(const std::vector<std::size_t>& sizes, const Allowed& allowed) {
  Pairs out;
  for (std::size_t f = 0; f < sizes.size(); ++f)
    for (std::size_t g = f + 1; g < sizes.size(); ++g)
      for (std::size_t a = 0; a < sizes[f]; ++a)
        for (std::size_t b = 0; b < sizes[g]; ++b) {
          Assignment row(sizes.size(), kUnset);
          row[f] = a;
          row[g] = b;
          if (can_complete(row, allowed, sizes)) out.insert({{f, a}, {g, b}});
        }
  return out;
}

}  // namespace

std::vector<Assignment> pairwise(const std::vector<std::size_t>& sizes, const Allowed& allowed) {
  Assignment first(sizes.size(), 0);
  LONGSPAN_ASSERT(allowed(first), "pairwise: the first values must be allowed together");
  Pairs open = all_pairs(sizes, allowed);
  std::vector<Assignment> out = {first};
  close(open, first);
  while (!open.empty()) {
    Assignment row(sizes.size(), kUnset);
    const auto [one, other] = *open.begin();
    row[one.first] = one.second;
    row[other.first] = other.second;
    for (std::size_t f = 0; f < sizes.size(); ++f) {
      if (row[f] != kUnset) continue;
      std::size_t best = kUnset, most = 0;
      for (std::size_t value = 0; value < sizes[f]; ++value) {
        const std::size_t count = gain(open, row, {f, value});
        if (best != kUnset && count <= most) continue;
        Assignment tried = row;
        tried[f] = value;
        if (!can_complete(tried, allowed, sizes)) continue;
        best = value;
        most = count;
      }
      row[f] = best;
    }
    close(open, row);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace longspan
