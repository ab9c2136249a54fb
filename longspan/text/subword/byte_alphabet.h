// How bytes are written in vocabularies: as one of 256 characters, or as a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace longspan {

/// Printable bytes of Latin-1 are themselves, the others U+0100 and up in their order (Radford et al., GPT-2): 'Ġ' is
/// a blank.
std::string to_byte_alphabet(std::string_view bytes);

/// The bytes of a token; nullopt where a character is none of the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view token);

/// "<0x0A>", which names the token of a byte in a vocabulary of characters (byte_fallback).
std::string byte_token_name(unsigned char byte);

}  // namespace longspan
