// The variants of LAVO that are compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/fields.h"

namespace longspan::tool {

struct AblationRow {
  std::string name;     ///< for a person
  FieldValues options;  ///< what differs from the first row, which is LAVO as it is
};

/// Everything that specification A.15 compares: position encoding and context dissection taken away, one and both; what
/// the memory is fed and when; either branch alone; the factor of the slot scores; every way to keep the basis, with
/// fewer slots than the heads are wide and with as many.
std::vector<AblationRow> ablation_rows(int64_t head_width);

}  // namespace longspan::tool
