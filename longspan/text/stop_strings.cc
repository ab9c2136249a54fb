#include "longspan/text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"

namespace longspan {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  for (const std::string& string : strings_) LONGSPAN_CHECK(!string.empty(), "stop: a stop string must not be empty");
}

std::string StopStrings::push(std::string_view text) {
  if (stopped()) return "";
  std::string all = std::exchange(held_, "");
  all += text;
  std::size_t end = std::string::npos;
  for (const std::string& string : strings_) {
    const std::size_t at = all.find(string);
    if (at == std::string::npos) continue;
    const std::size_t its_end = at + string.size();
    if (its_end < end || (its_end == end && string.size() > matched_.size())) {
      end = its_end;
      matched_ = string;
    }
  }
  if (stopped()) return all.substr(0, end - matched_.size());

  std::size_t keep = 0;  // the longest end of `all` that a stop string begins with
  for (const std::string& string : strings_)
    for (std::size_t size = std::min(string.size() - 1, all.size()); size > keep; --size)
      if (all.compare(all.size() - size, size, string, 0, size) == 0) keep = size;
  held_ = all.substr(all.size() - keep);
  all.resize(all.size() - keep);
  return all;
}

std::string StopStrings::release() { return std::exchange(held_, ""); }

}  // namespace longspan
