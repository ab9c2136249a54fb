#include "longspan/nn/lavo_windows.h"

#include <algorithm>

#include "longspan/nn/packing.h"
#include "longspan/nn/window_state.h"

namespace longspan::nn {

namespace {

std::vector<int64_t> lengths(const at::Tensor& cu) { return borders(cu.diff().contiguous()); }

}  // namespace

StreamRows stream_rows(const State& state, const at::Tensor& cu) {
  return {window_fills(state), lengths(cu), borders(state.at("count").contiguous())};
}

StreamRows whole_streams(const at::Tensor& cu) {
  StreamRows out;
  out.fresh = lengths(cu);
  out.held.assign(out.fresh.size(), 0);
  out.start = out.held;
  return out;
}

WindowBorders window_borders(const StreamRows& rows, int64_t w, bool old_queries) {
  std::vector<int64_t> queries, keys, origin;
  for (std::size_t b = 0; b < rows.fresh.size(); ++b) {
    const int64_t first = rows.start[b], end = first + rows.fresh[b];
    const int64_t begin = first - first % w;  // of the window under way, held from here on
    const int64_t older = rows.held[b] - (first - begin);
    if (older > 0) {
      queries.push_back(old_queries ? older : 0);
      keys.push_back(older);
      origin.insert(origin.end(), {static_cast<int64_t>(b), begin - older});
    }
    for (int64_t at = begin, to = at; at < end; at = to) {
      to = at + std::min(w, end - at);
      queries.push_back(to - (old_queries ? at : std::max(at, first)));
      keys.push_back(to - at);
      origin.insert(origin.end(), {static_cast<int64_t>(b), at});
    }
  }
  return {cu_from_lengths(queries), cu_from_lengths(keys), index_tensor(origin).view({-1, 2})};
}

WindowSteps window_steps(const StreamRows& rows, int64_t w) {
  std::vector<int64_t> complete, complete_queries, complete_lengths, complete_start, rest, rest_lengths, rest_start;
  int64_t all = 0, fresh = 0;  // rows of the streams before, held ones included and not
  for (std::size_t b = 0; b < rows.fresh.size(); ++b) {
    const int64_t first = rows.start[b], end = first + rows.fresh[b];
    const int64_t begin = first - first % w, border = end - end % w, split = std::max(border, first);
    const int64_t origin = all + rows.held[b] - first;  // row of position 0, were it held
    for (int64_t at = begin; at < border; ++at) {
      complete.push_back(origin + at);
      complete_queries.push_back(at < first ? 0 : 1 + fresh + at - first);
    }
    complete_lengths.push_back(border - begin);
    complete_start.push_back(begin);
    for (int64_t at = split; at < end; ++at) rest.push_back(fresh + at - first);
    rest_lengths.push_back(end - split);
    rest_start.push_back(split);
    all += rows.held[b] + rows.fresh[b];
    fresh += rows.fresh[b];
  }
  std::vector<int64_t> order;
  int64_t done = 0, left = static_cast<int64_t>(complete.size());
  for (std::size_t b = 0; b < rows.fresh.size(); ++b) {
    for (int64_t i = rows.start[b] - complete_start[b]; i < complete_lengths[b]; ++i) order.push_back(done + i);
    for (int64_t i = 0; i < rest_lengths[b]; ++i) order.push_back(left++);
    done += complete_lengths[b];
  }
  return {index_tensor(complete),
          index_tensor(complete_queries),
          cu_from_lengths(complete_lengths),
          index_tensor(complete_start),
          index_tensor(rest),
          cu_from_lengths(rest_lengths),
          index_tensor(rest_start),
          index_tensor(order)};
}

}  // namespace longspan::nn
