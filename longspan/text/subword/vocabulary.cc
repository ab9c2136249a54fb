#include "longspan/text/subword/vocabulary.h"

#include <algorithm>
#include <utility>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"

namespace longspan {

void Vocabulary::add(std::string name, uint32_t id, std::string_view owner) {
  LONGSPAN_CHECK(id < kMost, owner, ": the number of the token ", in_quotes(name), " must be below ", kMost, ", got ",
                 id);
  if (id >= names_.size()) {
    names_.resize(id + 1);
    used_.resize(id + 1);
  }
  names_[id] = name;
  used_[id] = true;
  ids_.insert_or_assign(std::move(name), id);
}

}  // namespace longspan
