// An object of a JSON file, of which every field is read or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "longspan/base/check.h"
#include "longspan/base/in_quotes.h"
#include "longspan/io/json.h"

namespace longspan {

/// Reads fields by name and remembers which; finish() refuses the others. `owner` stands before every message, as in
/// "tokenizer.json: model". Throws InputError for anything that is not as asked for.
class JsonObject {
 public:
  JsonObject(const Json& json, std::string owner) : json_(json), owner_(std::move(owner)) {
    LONGSPAN_CHECK(json.is_object(), owner_, ": expected an object, got ", json.type_name());
  }

  const std::string& owner() const { return owner_; }
  std::string owner_of(std::string_view name) const { return owner_ + ": " + std::string(name); }

  /// Nullptr for a field that is not there or null.
  const Json* find(std::string_view name) {
    known_.insert(std::string(name));
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  const Json& at(std::string_view name) {
    const Json* found = find(name);
    LONGSPAN_CHECK(found, owner_, ": ", name, " is missing");
    return *found;
  }

  std::string text(std::string_view name) { return text_of(at(name), name); }
  std::optional<std::string> optional_text(std::string_view name) {
    const Json* found = find(name);
    return found ? std::optional(text_of(*found, name)) : std::nullopt;
  }
  bool flag(std::string_view name, bool otherwise) {
    const Json* found = find(name);
    if (!found) return otherwise;
    LONGSPAN_CHECK(found->is_boolean(), owner_, ": ", name, " must be true or false, got ", found->type_name());
    return found->get<bool>();
  }
  /// A number from 0 to 2^32 - 1.
  uint32_t number(std::string_view name, std::optional<uint32_t> otherwise = {}) {
    const Json* found = find(name);
    if (!found && otherwise) return *otherwise;
    return number_of(at(name), owner_of(name));
  }
  const Json::array_t& list(std::string_view name) {
    const Json& found = at(name);
    LONGSPAN_CHECK(found.is_array(), owner_, ": ", name, " must be a list, got ", found.type_name());
    return found.get_ref<const Json::array_t&>();
  }

  /// A field that changes nothing here, whatever it holds.
  void ignore(std::string_view name) { known_.insert(std::string(name)); }
  void finish() const {
    for (const auto& [name, value] : json_.items())
      LONGSPAN_CHECK(known_.contains(name), owner_, ": the field ", in_quotes(name), " is not supported");
  }
  /// For a `type` that is none of those that are known.
  [[noreturn]] void refuse_type(std::string_view type, std::string_view known) const {
    throw InputError(str_cat(owner_, ": the type ", in_quotes(type), " is not supported, expected one of ", known));
  }

  static uint32_t number_of(const Json& json, std::string_view owner) {
    LONGSPAN_CHECK(json.is_number_unsigned() && json.get<uint64_t>() <= UINT32_MAX, owner,
                   " must be a whole number from 0 to ", UINT32_MAX, ", got ",
                   json.is_number() ? json.dump() : json.type_name());
    return json.get<uint32_t>();
  }

 private:
  std::string text_of(const Json& json, std::string_view name) const {
    LONGSPAN_CHECK(json.is_string(), owner_, ": ", name, " must be a text, got ", json.type_name());
    return json.get<std::string>();
  }

  const Json& json_;
  std::string owner_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace longspan
