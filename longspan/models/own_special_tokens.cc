#include "longspan/models/own_special_tokens.h"

#include <set>
#include <string_view>
#include <vector>

#include "longspan/text/subword/subword_tokenizer.h"

namespace longspan::models {

namespace {

using What = TemplatePart::What;

/// The special tokens of a template in its order, a text standing as kText.
constexpr int64_t kText = -1;
std::vector<int64_t> flat(const std::vector<TemplatePart>& parts) {
  std::vector<int64_t> out;
  for (const TemplatePart& part : parts)
    if (part.what == What::special)
      out.insert(out.end(), part.ids.begin(), part.ids.end());
    else
      out.push_back(kText);
  return out;
}

/// How many separators stand between two texts; `otherwise` where the template has another form.
int64_t separators_between(const std::vector<int64_t>& pair, const SpecialTokens& special, int64_t otherwise) {
  const auto count = static_cast<int64_t>(pair.size()) - 4;
  if (count < 1) return otherwise;
  std::vector<int64_t> expected = {special.first, kText};
  expected.insert(expected.end(), static_cast<std::size_t>(count), special.separator);
  expected.insert(expected.end(), {kText, special.separator});
  return pair == expected ? count : otherwise;
}

}  // namespace

std::optional<SpecialTokens> own_special_tokens(const Tokenizer& tokenizer) {
  const auto* subword = dynamic_cast<const SubwordTokenizer*>(&tokenizer);
  if (!subword) return std::nullopt;
  const std::vector<int64_t> single = flat(subword->special_template().single);
  if (single.size() != 3 || single[0] == kText || single[1] != kText || single[2] == kText) return std::nullopt;
  const auto find = [&](std::string_view bert, std::string_view roberta) {
    const auto found = subword->find(bert);
    return found ? found : subword->find(roberta);
  };
  const auto padding = find("[PAD]", "<pad>"), mask = find("[MASK]", "<mask>");
  if (!padding || !mask) return std::nullopt;
  SpecialTokens out{single[0], single[2], *padding, *mask};
  if (std::set<int64_t>{out.first, out.separator, out.padding, out.mask}.size() != kSpecialTokens) return std::nullopt;
  out.between = separators_between(flat(subword->special_template().pair), out, out.between);
  return out;
}

}  // namespace longspan::models
