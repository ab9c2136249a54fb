// Base64 as RFC 4648 has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace longspan {

/// The bytes of `text`, which may be padded or not; nullopt for anything that is no base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace longspan
