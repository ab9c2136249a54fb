#include "longspan/nn/dropout_seed.h"

#include <limits>

namespace longspan::nn {

at::Tensor dropout_seed() { return at::randint(std::numeric_limits<int64_t>::max(), {}, at::kLong); }

}  // namespace longspan::nn
