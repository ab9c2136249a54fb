#include "longspan/text/subword/bpe_merge.h"

#include <algorithm>
#include <array>
#include <queue>

namespace longspan {

namespace {

/// Up to here the ranks of all pairs are looked through for each merge.
constexpr std::size_t kShort = 64;

void merge_short(const MergeTable& table, std::vector<WordToken>& symbols) {
  std::size_t size = symbols.size();
  std::array<Merge, kShort> merges;  // of symbol i with the one behind it
  for (std::size_t i = 0; i + 1 < size; ++i) merges[i] = table.find(symbols[i].id, symbols[i + 1].id);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i)
      if (merges[i].rank < merges[best].rank) best = i;
    if (merges[best].rank == UINT32_MAX) break;
    symbols[best] = {merges[best].id, symbols[best + 1].end};
    for (std::size_t i = best + 1; i + 1 < size; ++i) {
      symbols[i] = symbols[i + 1];
      merges[i] = merges[i + 1];
    }
    --size;
    if (best > 0) merges[best - 1] = table.find(symbols[best - 1].id, symbols[best].id);
    if (best + 1 < size) merges[best] = table.find(symbols[best].id, symbols[best + 1].id);
  }
  symbols.resize(size);
}

constexpr uint32_t kNone = UINT32_MAX;

struct Node {
  uint32_t id, end, before, behind;
};
/// A merge that was possible when it was put into the queue: it still is when both tokens are as they were.
struct Candidate {
  uint32_t rank, left, left_id, right_id, id;
  bool operator<(const Candidate& other) const {  // of a queue that gives the greatest first
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

void merge_long(const MergeTable& table, std::vector<WordToken>& symbols) {
  const auto size = static_cast<uint32_t>(symbols.size());
  std::vector<Node> nodes(size);
  std::vector<Candidate> first;
  const auto candidate = [&](uint32_t left, uint32_t right, auto&& add) {
    const Merge merge = table.find(nodes[left].id, nodes[right].id);
    if (merge.rank != UINT32_MAX) add({merge.rank, left, nodes[left].id, nodes[right].id, merge.id});
  };
  for (uint32_t i = 0; i < size; ++i)
    nodes[i] = {symbols[i].id, symbols[i].end, i == 0 ? kNone : i - 1, i + 1 == size ? kNone : i + 1};
  for (uint32_t i = 0; i + 1 < size; ++i) candidate(i, i + 1, [&](Candidate found) { first.push_back(found); });
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(first));
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Node& left = nodes[best.left];
    if (left.id != best.left_id || left.behind == kNone) continue;
    Node& right = nodes[left.behind];
    if (right.id != best.right_id) continue;
    left.id = best.id;
    left.end = right.end;
    right.id = kNone;  // no token: nothing in the queue speaks of it any more
    left.behind = right.behind;
    if (left.behind != kNone) nodes[left.behind].before = best.left;
    const auto push = [&](Candidate found) { queue.push(found); };
    if (left.before != kNone) candidate(left.before, best.left, push);
    if (left.behind != kNone) candidate(best.left, left.behind, push);
  }
  symbols.clear();
  for (uint32_t i = 0; i != kNone; i = nodes[i].behind) symbols.push_back({nodes[i].id, nodes[i].end});
}

}  // namespace

void merge_symbols(const MergeTable& merges, std::vector<WordToken>& symbols) {
  if (symbols.size() <= kShort)
    merge_short(merges, symbols);
  else
    merge_long(merges, symbols);
}

}  // namespace longspan
