// longspan tokenize: what a tokenizer makes of a text.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "command.h"
#include "longspan/base/check.h"
#include "longspan/data/tokenizer_file.h"
#include "longspan/report/format.h"
#include "longspan/text/pieces.h"
#include "longspan/text/subword/subword_tokenizer.h"
#include "longspan/text/utf8.h"
#include "output.h"
#include "stream/byte_input.h"
#include "stream/visible.h"

namespace longspan::tool {

namespace {

enum class Colour { automatic, always, never };
const std::map<std::string, Colour> kColours = {
    {"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}};

struct TokenizeFlags {
  std::string tokenizer, colour = "auto";
  std::optional<std::string> text;
  bool special_tokens = false;
};

/// Backgrounds that dark and light letters stand out from; neighbours differ.
constexpr std::array<const char*, 6> kBackgrounds = {"48;5;153", "48;5;223", "48;5;151",
                                                     "48;5;225", "48;5;229", "48;5;189"};

/// Shows tokens as they come.
class Listing {
 public:
  Listing(const Tokenizer& tokenizer, bool json, bool colour)
      : tokenizer_(tokenizer),
        subword_(dynamic_cast<const SubwordTokenizer*>(&tokenizer)),
        json_(json),
        colour_(colour) {}

  /// The tokens of a piece, with the bytes of it that they stand for.
  void add(std::string_view piece, const Encoding& encoding) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
      const std::size_t size = encoding.source_bytes[i];
      token(encoding.tokens[i], piece.substr(at, size), size);
      at += size;
    }
    bytes_ += static_cast<int64_t>(piece.size());
    flush();
  }
  /// Tokens without a text behind them.
  void add(const std::vector<uint32_t>& tokens) {
    without_text_ = true;
    for (const uint32_t id : tokens) token(id, tokenizer_.token_text(id, false), 0);
    flush();
  }
  void finish() {
    if (json_)
      return print_json({{"tokens", count_}, {"source_bytes", bytes_}, {"vocabulary", tokenizer_.vocabulary_size()}});
    std::string line = "\n" + report::grouped(count_) + (count_ == 1 ? " token" : " tokens");
    if (!without_text_) line += ", " + report::grouped(bytes_) + (bytes_ == 1 ? " byte" : " bytes");
    if (count_ > 0 && bytes_ > 0)
      line += ", " + report::fixed(static_cast<double>(bytes_) / static_cast<double>(count_), 2) + " bytes per token";
    print_text(line + "\n");
  }

 private:
  void token(uint32_t id, std::string_view text, std::size_t size) {
    ++count_;
    const bool special = subword_ && subword_->is_special(id);
    if (json_) {
      Json json = {{"token", id}, {"text", std::string(text)}, {"source_bytes", size}, {"special", special}};
      if (invalid_utf8(text) != std::string::npos) {
        json["bytes"] = Json::array();
        for (const char byte : text) json["bytes"].push_back(static_cast<unsigned char>(byte));
      }
      return print_json(json);
    }
    const std::string shown = text.empty() ? std::string("\u2205") : visible(text);
    if (colour_)
      pieces_ += str_cat("\x1b[30;",
                         special ? "1;48;5;210" : kBackgrounds[static_cast<std::size_t>(count_) % kBackgrounds.size()],
                         "m", shown, "\x1b[0m");
    else
      pieces_ += (pieces_.empty() ? "" : "|") + shown;
    ids_ += (ids_.empty() ? "" : " ") + std::to_string(id);
    // A line of the text is a line of the pieces, and below it stand its numbers.
    if (text.ends_with('\n')) flush();
  }
  void flush() {
    if (pieces_.empty()) return;
    print_text(pieces_ + "\n" + ids_ + "\n");
    pieces_.clear();
    ids_.clear();
  }

  const Tokenizer& tokenizer_;
  const SubwordTokenizer* subword_;
  bool json_, colour_;
  std::string pieces_, ids_;
  int64_t count_ = 0, bytes_ = 0;
  bool without_text_ = false;  ///< nothing is known of the bytes behind tokens
};

void tokenize(const TokenizeFlags& options, const CommonOptions& common) {
  const auto tokenizer = open_tokenizer(options.tokenizer);
  const Colour wish = kColours.at(options.colour);
  const bool terminal = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  Listing listing(*tokenizer, common.json, wish == Colour::always || (wish == Colour::automatic && terminal));
  if (options.special_tokens) {
    const auto* subword = dynamic_cast<const SubwordTokenizer*>(tokenizer.get());
    LONGSPAN_CHECK(subword, "--special-tokens: the tokenizer ", tokenizer->name(), " has none to add");
    LONGSPAN_CHECK(options.text, "--special-tokens: needs TEXT, a stream has no end to put them at");
    listing.add(subword->encode_special(*options.text).tokens);
    return listing.finish();
  }
  Pieces pieces(*tokenizer);
  const auto show = [&] {
    for (std::string_view piece; pieces.next(piece);) listing.add(piece, tokenizer->encode_aligned(piece));
  };
  if (options.text) {
    pieces.push(*options.text);
  } else {
    ByteInput input("-");
    std::vector<char> buffer(std::size_t{1} << 16);
    for (std::size_t got; (got = input.read(buffer.data(), buffer.size())) > 0; show())
      pieces.push({buffer.data(), got});
  }
  pieces.finish();
  show();
  listing.finish();
}

}  // namespace

Action set_up_tokenize(CLI::App& app, const CommonOptions& common) {
  auto options = std::make_shared<TokenizeFlags>();
  app.add_option("tokenizer", options->tokenizer,
                 "bytes, the file of a tokenizer (tokenizer.json, vocab.json with merges.txt beside it, .tiktoken, a "
                 "SentencePiece model), or the folder of a tokenizer, a dataset or a model")
      ->required();
  app.add_option("text", options->text, "the text (default: stdin, as it comes)");
  app.add_option("--colour", options->colour, "pieces in colour: auto where stdout is a terminal (default: auto)")
      ->check(CLI::IsMember(kColours));
  app.add_flag("--special-tokens", options->special_tokens,
               "put the special tokens around the text that the tokenizer has for encoders");
  return [options, &common] { tokenize(*options, common); };
}

}  // namespace longspan::tool
