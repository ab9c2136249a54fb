// The boundary to the library SentencePiece: C functions of a module that is loaded when the first model is read.
//
// Why a module: libsentencepiece exports a variable FLAGS_minloglevel, and so does LibTorch's libc10, of another type
// and size. Linked into one program, the one's constructor would write over the other's neighbours. The module is
// loaded so that the library finds its own names first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longspan {

/// What the module exports, as one table. `handle` is a model; texts of fixed life are the module's, see each.
struct SentencePieceFunctions {
  /// The model of a file's content; null when the library refuses it.
  void* (*load)(const char* model, std::size_t size);
  void (*unload)(void* handle);
  int (*size)(const void* handle);
  /// Tokens of a piece of text as calls use(context, token, end), `end` where the token ends in it, as the library
  /// says. Returns null, or what the library complains of, valid until the next call of this thread.
  const char* (*encode)(const void* handle, const char* text, std::size_t size,
                        void (*use)(void* context, std::uint32_t token, std::uint32_t end), void* context);
  /// The text of tokens, given to `use`.
  void (*decode)(const void* handle, const int* tokens, std::size_t count,
                 void (*use)(void* context, const char* text, std::size_t size), void* context);
  bool (*is_control)(const void* handle, int token);
  bool (*is_unknown)(const void* handle, int token);
  bool (*is_byte)(const void* handle, int token);
  /// The name of a token, ended by 0, as long as the model lives.
  const char* (*piece)(const void* handle, int token);
};

/// Name of the one symbol that is looked up: a function that returns the table.
inline constexpr const char* kSentencePieceSymbol = "longspan_sentencepiece_functions";

/// Loads the module, once. It is looked for beside the library or program that this is part of, in `../lib` of that
/// folder, then where the system looks. RunError when it is not there.
const SentencePieceFunctions& sentencepiece_functions();

}  // namespace longspan
