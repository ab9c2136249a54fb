#include "longspan/simd/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "longspan/base/check.h"

namespace longspan::simd {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// The environment is read at the first call, so this test must be the first of its program: a wrong name is refused,
// and again at the next call; afterwards the name that the run was given is the one that runs.
TEST(Target, EnvironmentForces) {
  const char* variable = std::getenv("LONGSPAN_SIMD");
  const std::string wanted = variable ? variable : "";

  ASSERT_EQ(setenv("LONGSPAN_SIMD", "AVX9", 1), 0);
  const std::string expected = "LONGSPAN_SIMD: expected one of " + joined(available_targets()) + ", got 'AVX9'";
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(message_of([] { active_target(); }), expected);
    EXPECT_EQ(message_of([] { ensure_target(); }), expected);
  }

  ASSERT_EQ(setenv("LONGSPAN_SIMD", wanted.c_str(), 1), 0);
  EXPECT_EQ(active_target(), wanted.empty() ? available_targets().front() : wanted);
}

TEST(Target, ForceEveryTarget) {
  const std::string before = active_target();
  for (const auto& name : available_targets()) {
    force_target(name);
    EXPECT_EQ(active_target(), name);
  }
  force_target("");
  EXPECT_EQ(active_target(), available_targets().front());
  force_target(before);
}

TEST(Target, ForceRefusesUnknownName) {
  const std::string before = active_target();
  EXPECT_EQ(message_of([] { force_target("avx2"); }),
            "force_target: expected one of " + joined(available_targets()) + ", got 'avx2'");
  EXPECT_EQ(active_target(), before);  // a refused name changes nothing
}

TEST(Target, FallbackIsAlwaysThere) {
  const auto names = available_targets();
  EXPECT_NE(std::find(names.begin(), names.end(), "EMU128"), names.end()) << joined(names);
}

}  // namespace
}  // namespace longspan::simd
