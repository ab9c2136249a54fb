#include "longspan/simd/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "longspan/simd/target.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace longspan::simd::HWY_NAMESPACE {
int64_t running_target() { return HWY_TARGET; }
}  // namespace longspan::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstdlib>
#include <mutex>

#include "longspan/base/check.h"

namespace longspan::simd {
namespace {

HWY_EXPORT(running_target);

std::vector<int64_t> available() {
  // Asked once, before anything is forced: a forced target would be the only one Highway reports.
  static const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  std::vector<int64_t> out;
  for (int64_t bits = usable; bits != 0; bits &= bits - 1) out.push_back(bits & -bits);  // a lower bit is better
  return out;
}

void choose(const std::string& name, const char* owner) {
  std::string known;
  int64_t found = 0;
  for (const int64_t target : available()) {
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(target);
    if (name == hwy::TargetName(target)) found = target;
  }
  if (found == 0 && !name.empty()) throw InputError(str_cat(owner, ": expected one of ", known, ", got '", name, "'"));
  hwy::SetSupportedTargetsForTest(found);  // 0: all of them
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::once_flag environment_read;

}  // namespace

void ensure_target() {
  // An exception leaves the flag unset: the next call reports the wrong name again instead of running something else.
  std::call_once(environment_read, [] {
    if (const char* name = std::getenv("LONGSPAN_SIMD"); name && *name) choose(name, "LONGSPAN_SIMD");
  });
}

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const int64_t target : available()) names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string active_target() {
  ensure_target();
  return hwy::TargetName(HWY_DYNAMIC_DISPATCH(running_target)());
}

void force_target(const std::string& name) {
  ensure_target();
  choose(name, "force_target");
}

}  // namespace longspan::simd
#endif  // HWY_ONCE
