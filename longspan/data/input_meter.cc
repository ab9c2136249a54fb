#include "longspan/data/input_meter.h"

#include <algorithm>

namespace longspan {

InputMeter::InputMeter(std::string_view activity, Progress& progress) : activity_(activity), progress_(progress) {}

void InputMeter::expect(const std::vector<TextInput>& inputs) {
  for (const TextInput& input : inputs) {
    known_ = known_ && input.size >= 0;
    total_ += input.size;
  }
  if (!known_) total_ = 0;
}

void InputMeter::at(int64_t position) {
  const int64_t done = before_ + position;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  // A file that grew since it was looked at must not lead beyond the end.
  progress_.report({activity_, "bytes", total_ > 0 ? std::min(done, total_) : done, total_,
                    seconds > 0 ? static_cast<double>(done) / seconds : 0});
  last_ = done;
}

}  // namespace longspan
