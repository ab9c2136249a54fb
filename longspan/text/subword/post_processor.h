// The last step of a tokenizer: special tokens around one text or two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longspan {

/// One part of what a model reads: a text, or special tokens.
struct TemplatePart {
  enum class What { first, second, special } what = What::first;
  std::vector<uint32_t> ids = {};  ///< of special tokens
  uint32_t type = 0;               ///< of all its tokens ("token_type_ids")
};

/// Where the tokens of one text, or of two, stand among special ones. As it is made: the texts alone.
struct SpecialTemplate {
  std::vector<TemplatePart> single = {{TemplatePart::What::first, {}, 0}};
  std::vector<TemplatePart> pair = {{TemplatePart::What::first, {}, 0}, {TemplatePart::What::second, {}, 1}};
};

}  // namespace longspan
