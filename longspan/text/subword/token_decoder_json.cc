#include "longspan/text/subword/json_object.h"
#include "longspan/text/subword/tokenizer_json.h"

namespace longspan {

namespace {

/// `fused`: a step before has joined the tokens, so that what follows sees the whole text.
void read_step(const Json& json, const std::string& owner, bool& bytes, bool& fused, DecodeStepList& out) {
  JsonObject object(json, owner);
  const std::string type = object.text("type");
  if (type == "Sequence") {
    const auto& steps = object.list("decoders");
    for (std::size_t i = 0; i < steps.size(); ++i) read_step(steps[i], str_cat(owner, "[", i, "]"), bytes, fused, out);
  } else if (type == "ByteLevel") {
    for (const char* name : {"add_prefix_space", "trim_offsets", "use_regex"}) object.ignore(name);
    bytes = true;
  } else if (type == "WordPiece") {
    LONGSPAN_CHECK(!fused, owner, ": WordPiece after Fuse is not supported");
    out.push_back(std::make_unique<WordPieceDecoder>(object.text("prefix"), object.flag("cleanup", true)));
  } else if (type == "Metaspace") {
    LONGSPAN_CHECK(!fused, owner, ": Metaspace after Fuse is not supported");
    const std::string scheme =
        object.optional_text("prepend_scheme").value_or(object.flag("add_prefix_space", true) ? "always" : "never");
    for (const char* name : {"add_prefix_space", "split", "str_rep"}) object.ignore(name);
    out.push_back(std::make_unique<MetaspaceDecoder>(object.text("replacement"), scheme != "never"));
  } else if (type == "ByteFallback") {
    LONGSPAN_CHECK(!fused, owner, ": ByteFallback after Fuse is not supported");
    out.push_back(std::make_unique<ByteFallbackDecoder>());
  } else if (type == "Fuse") {
    fused = true;
  } else if (type == "Strip") {
    const uint32_t start = object.number("start", 0), stop = object.number("stop", 0);
    LONGSPAN_CHECK(!fused || (stop == 0 && start <= 1), owner,
                   ": Strip after Fuse is supported for one character at the start alone");
    out.push_back(std::make_unique<StripDecoder>(object.text("content"), start, stop, !fused));
  } else if (type == "Replace") {
    bool plain = false;
    const std::string from = read_pattern(object.at("pattern"), object.owner_of("pattern"), plain);
    LONGSPAN_CHECK(plain, owner, ": Replace is supported for a String alone");
    LONGSPAN_CHECK(!fused || from.size() == 1, owner, ": Replace after Fuse is not supported");
    out.push_back(std::make_unique<ReplaceDecoder>(from, object.text("content")));
  } else {
    object.refuse_type(type, "ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece");
  }
  object.finish();
}

}  // namespace

void read_decoder(const Json& json, const std::string& owner, bool bytes, DecodeStepList& out) {
  bool decodes_bytes = false, fused = false;
  read_step(json, owner, decodes_bytes, fused, out);
  LONGSPAN_CHECK(decodes_bytes == bytes, owner,
                 ": ByteLevel is expected where it is the pre-tokenizer, and there alone");
  LONGSPAN_CHECK(!bytes || out.empty(), owner, ": no other step is supported beside ByteLevel");
}

}  // namespace longspan
