// The module: nothing but calls of the library. No exception leaves it.
#include "longspan/text/sentencepiece_module.h"

#include <sentencepiece_processor.h>

#include <string>

namespace {

using Processor = sentencepiece::SentencePieceProcessor;

const Processor& model(const void* handle) { return *static_cast<const Processor*>(handle); }

void* load(const char* bytes, std::size_t size) {
  auto* processor = new Processor;
  if (processor->LoadFromSerializedProto(std::string_view(bytes, size)).ok()) return processor;
  delete processor;
  return nullptr;
}

const char* encode(const void* handle, const char* text, std::size_t size,
                   void (*use)(void* context, std::uint32_t token, std::uint32_t end), void* context) {
  sentencepiece::ImmutableSentencePieceText out;
  const auto status = model(handle).Encode(std::string_view(text, size), out.mutable_proto());
  if (!status.ok()) {
    thread_local std::string message;
    message = status.message();
    return message.c_str();
  }
  for (int i = 0; i < static_cast<int>(out.pieces_size()); ++i) {
    const auto token = out.pieces(i);
    use(context, token.id(), token.end());
  }
  return nullptr;
}

void decode(const void* handle, const int* tokens, std::size_t count,
            void (*use)(void* context, const char* text, std::size_t size), void* context) {
  const std::string text = model(handle).DecodeIds({tokens, tokens + count});
  use(context, text.data(), text.size());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const longspan::SentencePieceFunctions*
longspan_sentencepiece_functions() {
  static const longspan::SentencePieceFunctions functions = {
      .load = load,
      .unload = [](void* handle) { delete static_cast<Processor*>(handle); },
      .size = [](const void* handle) { return model(handle).GetPieceSize(); },
      .encode = encode,
      .decode = decode,
      .is_control = [](const void* handle, int token) { return model(handle).IsControl(token); },
      .is_unknown = [](const void* handle, int token) { return model(handle).IsUnknown(token); },
      .is_byte = [](const void* handle, int token) { return model(handle).IsByte(token); },
      .piece = [](const void* handle, int token) { return model(handle).IdToPiece(token).c_str(); },
  };
  return &functions;
}
