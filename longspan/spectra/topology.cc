#include "longspan/spectra/topology.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "longspan/base/check.h"
#include "longspan/base/usable_memory.h"
#include "longspan/patterns/statistics.h"
#include "longspan/spectra/graph.h"

namespace longspan::spectra {

struct Topology::Shared {
  int64_t n = 0, components = 0, isolated = 0;
  std::unique_ptr<Graph> graph;
  std::vector<int8_t> loop_change;  ///< added to the diagonal of the pattern
  std::vector<double> degrees;
  double least = 0, largest = 0, mean = 0;
};

Topology::Scratch::Scratch() : scratch_(std::make_unique<GraphScratch>()) {}
Topology::Scratch::~Scratch() = default;
Topology::Scratch::Scratch(Scratch&&) noexcept = default;
Topology::Scratch& Topology::Scratch::operator=(Scratch&&) noexcept = default;

Topology::Topology(const patterns::Pattern& pattern, SelfLoops loops, const Parallel& parallel, int64_t memory_limit) {
  const int64_t n = pattern.size();
  const double needed = 37 * static_cast<double>(n) +
                        static_cast<double>(pattern.counts().rest) * (pattern.causal() ? 8 : 16);  // transpose included
  const auto limit = static_cast<double>(memory_limit > 0 ? memory_limit : usable_memory());
  LONGSPAN_CHECK(needed <= limit, "spectra: the graph of ", n, " tokens would need ", std::llround(needed),
                 " bytes, more than the ", std::llround(limit), " there are");
  auto shared = std::make_shared<Shared>();
  shared->n = n;
  shared->graph = pattern.causal() ? make_causal_graph(pattern, parallel) : make_united_graph(pattern, parallel);
  shared->components = patterns::statistics(pattern.view()).components;
  shared->loop_change.assign(static_cast<std::size_t>(n), 0);
  for (int64_t i = 0; i < n && loops != SelfLoops::pattern; ++i)
    shared->loop_change[static_cast<std::size_t>(i)] =
        static_cast<int8_t>((loops == SelfLoops::on ? 1 : 0) - (pattern.contains(i, i) ? 1 : 0));

  shared_ = shared;
  shared->degrees.resize(static_cast<std::size_t>(n));
  const std::vector<double> ones(static_cast<std::size_t>(n), 1);
  Scratch scratch;
  apply(ones.data(), shared->degrees.data(), scratch, parallel);
  if (n == 0) return;
  const auto& degrees = shared->degrees;
  const auto [least, largest] = std::minmax_element(degrees.begin(), degrees.end());
  shared->least = *least;
  shared->largest = *largest;
  shared->mean = std::accumulate(degrees.begin(), degrees.end(), 0.0) / static_cast<double>(n);
  shared->isolated = std::count(degrees.begin(), degrees.end(), 0.0);
}

int64_t Topology::size() const { return shared_->n; }
const std::vector<double>& Topology::degrees() const { return shared_->degrees; }
double Topology::least_degree() const { return shared_->least; }
double Topology::largest_degree() const { return shared_->largest; }
double Topology::mean_degree() const { return shared_->mean; }
int64_t Topology::components() const { return shared_->components; }
int64_t Topology::isolated() const { return shared_->isolated; }
int64_t Topology::bytes() const {
  return shared_->graph->bytes() + static_cast<int64_t>(9 * shared_->degrees.capacity());
}

void Topology::apply(const double* x, double* y, Scratch& scratch, const Parallel& parallel) const {
  shared_->graph->apply(x, y, *scratch.scratch_, parallel);
  for (std::size_t i = 0; i < shared_->loop_change.size(); ++i)
    if (shared_->loop_change[i] != 0) y[i] += shared_->loop_change[i] * x[i];
}

}  // namespace longspan::spectra
