// W = max(M, M^T) from pieces against the list of all pairs.
#include "longspan/spectra/topology.h"

#include <gtest/gtest.h>

#include <set>

#include "graphs.h"
#include "longspan/base/check.h"
#include "longspan/base/rng.h"

namespace longspan::spectra {
namespace {

using Neighbours = std::vector<std::set<int64_t>>;

Neighbours neighbours_of(const patterns::Pattern& pattern, SelfLoops loops) {
  Neighbours out(static_cast<std::size_t>(pattern.size()));
  const patterns::Csr pairs = pattern.csr();
  for (int64_t i = 0; i < pattern.size(); ++i)
    for (const int64_t j : pairs.row(i)) {
      out[static_cast<std::size_t>(i)].insert(j);
      out[static_cast<std::size_t>(j)].insert(i);
    }
  for (int64_t i = 0; i < pattern.size(); ++i) {
    if (loops == SelfLoops::on) out[static_cast<std::size_t>(i)].insert(i);
    if (loops == SelfLoops::off) out[static_cast<std::size_t>(i)].erase(i);
  }
  return out;
}

/// Small whole numbers, whose sums are exact: every entry must agree to the bit.
void expect_graph(const patterns::Pattern& pattern, SelfLoops loops, const std::string& what) {
  const auto n = static_cast<std::size_t>(pattern.size());
  const Topology topology(pattern, loops);
  const Neighbours expected = neighbours_of(pattern, loops);
  std::vector<double> x(n), y(n, -1);
  Rng rng(7);
  for (double& value : x) value = static_cast<double>(rng.below(2001)) - 1000;
  Topology::Scratch scratch;
  topology.apply(x.data(), y.data(), scratch);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (const int64_t j : expected[i]) sum += x[static_cast<std::size_t>(j)];
    ASSERT_EQ(y[i], sum) << what << ", row " << i;
    ASSERT_EQ(topology.degrees()[i], static_cast<double>(expected[i].size())) << what << ", row " << i;
  }
  std::vector<double> on_threads(n);
  topology.apply(x.data(), on_threads.data(), scratch, ThreadPool(3));
  EXPECT_EQ(on_threads, y) << what;
}

TEST(Topology, PiecesAreTheGraphOfAllPairs) {
  struct Case {
    std::string name;
    FieldValues values;
  };
  const std::vector<Case> cases = {
      {"window_overlap", {{"w", int64_t{8}}}},
      {"window_band", {{"k", int64_t{3}}}},
      {"window_overlap+global+random", {{"w", int64_t{8}}, {"g", int64_t{3}}, {"r", int64_t{4}}}},
      {"window_band+global+random",
       {{"k", int64_t{2}}, {"g", int64_t{3}}, {"r", int64_t{4}}, {"random_mode", std::string("total")}}},
      {"uniform", {{"uniform_r", int64_t{5}}}},
      {"bigbird", {{"b", int64_t{4}}, {"bigbird_r", int64_t{2}}}},
      {"bigbird+strided", {{"b", int64_t{4}}, {"bigbird_r", int64_t{2}}, {"l", int64_t{9}}}},
      {"bigbird+global+random", {{"b", int64_t{4}}, {"g", int64_t{4}}, {"r", int64_t{3}}}},
      {"bigbird+fixed", {{"b", int64_t{4}}, {"l", int64_t{9}}, {"c", int64_t{2}}}},
      {"longformer", {{"w", int64_t{6}}, {"g", int64_t{2}}}},
      {"strided", {{"l", int64_t{7}}}},
      {"fixed", {{"l", int64_t{8}}, {"c", int64_t{2}}}},
      {"fixed+random", {{"l", int64_t{8}}, {"c", int64_t{2}}, {"r", int64_t{3}}}},
      {"full", {}},
      {"global", {{"g", int64_t{2}}}},
  };
  for (const Case& c : cases)
    for (const bool causal : {false, true})
      for (const bool own : {false, true})
        for (const int64_t n : {1, 2, 5, 37, 64})
          for (const SelfLoops loops : {SelfLoops::pattern, SelfLoops::on, SelfLoops::off}) {
            FieldValues values = c.values;
            values["causal"] = causal;
            values["self_loops"] = own;
            const std::string what = c.name + (causal ? ", causal" : "") + (own ? ", loops" : "") + ", n " +
                                     std::to_string(n) + ", loops " + std::to_string(static_cast<int>(loops));
            expect_graph(pattern_of(c.name, n, values, 5), loops, what);
          }
}

TEST(Topology, ManyTasks) {
  for (const bool causal : {false, true}) {
    const FieldValues values = {{"w", int64_t{16}}, {"g", int64_t{5}}, {"r", int64_t{6}}, {"causal", causal}};
    expect_graph(pattern_of("window_overlap+global+random", 3000, values), SelfLoops::pattern, "3000 tokens");
  }
}

TEST(Topology, NothingAndIsolatedVertices) {
  const Topology none(pattern_of("full", 0));
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.components(), 0);
  const Topology some(pattern_of_pairs(5, {{0, 1}, {3, 3}}));
  EXPECT_EQ(some.components(), 4);
  EXPECT_EQ(some.isolated(), 2);
  EXPECT_EQ(some.degrees(), (std::vector<double>{1, 1, 0, 1, 0}));
  EXPECT_TRUE(Topology(circulant(9, {1, 3})).regular());
  EXPECT_FALSE(Topology(star(9)).regular());
}

TEST(Topology, RefusesWhatDoesNotFit) {
  const auto pattern = pattern_of("random", 1000, {{"r", int64_t{10}}});
  try {
    const Topology topology(pattern, SelfLoops::pattern, SerialParallel(), 1000);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("would need 197000 bytes, more than the 1000"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace longspan::spectra
