// What --verbose shows of the operators.
#pragma once

namespace longspan::tool {

/// From now on every form of an operator that runs is logged with the reason, "local_attention: kernel (there is a
/// kernel for float32 on cpu)": once for each different line, however often it runs.
void log_backends();

}  // namespace longspan::tool
