#include "longspan/io/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/base/utf8_character.h"
#include "longspan/io/atomic_file.h"
#include "longspan/io/mapped_file.h"

namespace longspan {

namespace {

constexpr std::size_t kMaximumDepth = 64;

/// Builds a Json as nlohmann's own parser does, but refuses what the standard leaves open: keys that stand twice, and
/// nesting without end. Thrown errors carry no position; the caller adds the one where parsing stood.
class StrictBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool null() { return value(nullptr); }
  bool boolean(bool v) { return value(v); }
  bool number_integer(number_integer_t v) { return value(v); }
  bool number_unsigned(number_unsigned_t v) { return value(v); }
  bool number_float(number_float_t v, const string_t&) { return value(v); }
  bool string(string_t& v) { return value(std::move(v)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& v) {
    Level& level = levels_.back();
    if (!level.keys.insert(v).second) throw InputError(str_cat("the key '", v, "' stands twice in one object"));
    level.key = std::move(v);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) {
    position = byte;
    message = error.what();
    return false;
  }

  Json result;
  std::size_t position = 0;
  std::string message;

 private:
  struct Level {
    Json json;
    std::string key;
    std::set<std::string> keys;
  };

  bool value(Json v) {
    if (levels_.empty()) {
      result = std::move(v);
    } else if (Level& level = levels_.back(); level.json.is_array()) {
      level.json.push_back(std::move(v));
    } else {
      // The key is new, so no search for an old one: ordered_json would look through all of them.
      level.json.get_ref<Json::object_t&>().Container::emplace_back(std::move(level.key), std::move(v));
    }
    return true;
  }
  bool open(Json v) {
    if (levels_.size() == kMaximumDepth) throw InputError(str_cat("nested deeper than ", kMaximumDepth));
    levels_.push_back({std::move(v), {}, {}});
    return true;
  }
  bool close() {
    Json done = std::move(levels_.back().json);
    levels_.pop_back();
    return value(std::move(done));
  }

  std::vector<Level> levels_;
};

/// nlohmann's text without its own prefix and position, and with no more than the end of the token that it quotes,
/// which may be megabytes.
std::string plain(const std::string& message) {
  constexpr std::string_view kQuote = "last read: '";
  constexpr std::size_t kMost = 40;
  auto begin_of_text = message.starts_with('[') ? message.find("] ") : std::string::npos;
  if (message.starts_with("[json.exception.parse_error")) begin_of_text = message.find(": ");  // its position, too
  std::string text = begin_of_text == std::string::npos ? message : message.substr(begin_of_text + 2);
  const auto quote = text.find(kQuote);
  const auto close = text.rfind('\'');
  if (quote == std::string::npos || close - quote - kQuote.size() <= kMost) return text;
  const auto begin = quote + kQuote.size();
  auto end = close - kMost;
  while (end < close && continues_character(text[end])) ++end;
  return text.replace(begin, end - begin, "...");
}

/// An input iterator that counts what the parser took, for the position of an error of StrictBuilder.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  std::size_t* taken;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    ++*taken;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
  bool operator!=(const CountingIterator& other) const { return at != other.at; }
};

std::string place(std::string_view text, std::size_t position, int64_t first_line) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = first_line + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  const auto column = start == std::string_view::npos ? before.size() : before.size() - start - 1;
  return str_cat(line, ":", std::max<std::size_t>(column, 1));
}

}  // namespace

Json parse_json(std::string_view text, std::string_view origin, int64_t first_line) {
  StrictBuilder builder;
  std::size_t taken = 0;
  std::size_t unused = 0;
  try {
    const CountingIterator begin{text.data(), &taken};
    const CountingIterator end{text.data() + text.size(), &unused};
    if (Json::sax_parse(begin, end, &builder)) return std::move(builder.result);
  } catch (const InputError& error) {
    throw InputError(str_cat(origin, ":", place(text, taken, first_line), ": ", error.what()));
  }
  throw InputError(str_cat(origin, ":", place(text, builder.position, first_line), ": ", plain(builder.message)));
}

Json load_json(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

void save_json(const std::string& path, const Json& json) {
  std::string text;
  try {
    text = json.dump(2) + "\n";
  } catch (const Json::type_error&) {
    throw InputError(str_cat(path, ": a text to be saved is not valid UTF-8"));
  }
  write_file(path, text);
}

FieldValues to_field_values(const Json& object, std::string_view owner) {
  LONGSPAN_CHECK(object.is_object(), owner, ": expected an object, got ", object.type_name());
  FieldValues out;
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) {
      out[name] = std::monostate();
    } else if (value.is_boolean()) {
      out[name] = value.get<bool>();
    } else if (value.is_number_unsigned()) {
      const auto number = value.get<uint64_t>();
      LONGSPAN_CHECK(number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), owner, ": ", name,
                     " is too large an integer: ", number);
      out[name] = static_cast<int64_t>(number);
    } else if (value.is_number_integer()) {
      out[name] = value.get<int64_t>();
    } else if (value.is_number_float()) {
      out[name] = value.get<double>();
    } else if (value.is_string()) {
      out[name] = value.get<std::string>();
    } else {
      throw InputError(
          str_cat(owner, ": ", name, " must be a number, text, true, false or null, got ", value.type_name()));
    }
  }
  return out;
}

Json to_json(const FieldValue& value) {
  struct Visitor {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(bool v) const { return v; }
    Json operator()(int64_t v) const { return v; }
    Json operator()(double v) const {
      LONGSPAN_CHECK(std::isfinite(v), "JSON has no number for ", v);
      return v;
    }
    Json operator()(const std::string& v) const { return v; }
  };
  return std::visit(Visitor{}, value);
}

Json to_json(const FieldValues& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values) out[name] = to_json(value);
  return out;
}

}  // namespace longspan
