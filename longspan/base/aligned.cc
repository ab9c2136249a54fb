#include "longspan/base/aligned.h"

#include <atomic>

namespace longspan {

namespace {
std::atomic<bool> poison{false};
}

void set_poison_scratch(bool on) { poison = on; }
bool poison_scratch() { return poison; }

}  // namespace longspan
