#include "longspan/text/subword/token_decoder.h"

#include <charconv>
#include <string_view>

namespace longspan {

namespace {

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

void MetaspaceDecoder::apply(std::string& text, bool first) const {
  replace(text, sign_, first && drop_first_ ? "" : " ");
}

void WordPieceDecoder::apply(std::string& text, bool first) const {
  if (!first) {
    if (text.starts_with(prefix_))
      text.erase(0, prefix_.size());
    else
      text.insert(0, 1, ' ');
  }
  if (!cleanup_) return;
  // The order is that of the original.
  constexpr std::pair<std::string_view, std::string_view> kClean[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kClean) replace(text, from, to);
}

void ByteFallbackDecoder::apply(std::string& text, bool) const {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (error == std::errc() && end == text.data() + 5) text = std::string(1, static_cast<char>(value));
}

void ReplaceDecoder::apply(std::string& text, bool) const { replace(text, from_, to_); }

void StripDecoder::apply(std::string& text, bool first) const {
  if (!each_ && !first) return;
  for (std::size_t i = 0; i < start_ && text.starts_with(content_) && !text.empty(); ++i)
    text.erase(0, content_.size());
  for (std::size_t i = 0; i < stop_ && text.ends_with(content_) && !text.empty(); ++i)
    text.resize(text.size() - content_.size());
}

}  // namespace longspan
