// Names of what a module was given when it was made.
#pragma once

namespace longspan::nn {

/// Beginning of the names of buffers that hold what a module was given when it was made (pairs of one's own), not what
/// it learned: weights of another model do not replace them.
inline constexpr const char* kGivenBuffer = "given_";

}  // namespace longspan::nn
