// What the tests of write_dataset() share.
#pragma once

#include <string>
#include <vector>

#include "longspan/data/write_dataset.h"
#include "tests/io/scratch_folder.h"

namespace longspan {

class DatasetCase : public ScratchFolder {
 protected:
  DatasetOptions options(std::vector<std::string> inputs, std::vector<std::string> held_out = {}) const {
    DatasetOptions out;
    out.inputs = std::move(inputs);
    out.held_out = std::move(held_out);
    out.output = path("set");
    return out;
  }
  /// The message of an InputError; nothing may be left behind.
  std::string refusal(const DatasetOptions& options) {
    const auto before = names();
    const std::string text = error_of([&] { write_dataset(options, progress_); });
    EXPECT_EQ(names(), before) << "something was left behind";
    return text;
  }
  static std::vector<uint32_t> tokens(const Dataset& set, const std::string& split, int64_t begin, int64_t end) {
    std::vector<int64_t> values(static_cast<std::size_t>(end - begin));
    set.split(split).copy_to(values.data(), begin, end - begin);
    return {values.begin(), values.end()};
  }
  static std::vector<uint32_t> tokens(const Dataset& set, const std::string& split) {
    return tokens(set, split, 0, set.split(split).size());
  }
  /// The bytes of a split of bytes.
  static std::string text(const Dataset& set, const std::string& split) {
    const auto values = tokens(set, split);
    return {values.begin(), values.end()};
  }
  /// Every document of a split of bytes.
  static std::vector<std::string> documents(const Dataset& set, const std::string& split) {
    const std::string all = text(set, split);
    const DocumentIndex& index = set.documents(split);
    std::vector<std::string> out;
    for (int64_t i = 0; i < index.size(); ++i)
      out.push_back(all.substr(static_cast<std::size_t>(index.begin(i)),
                               static_cast<std::size_t>(index.end(i) - index.begin(i))));
    return out;
  }

  NullProgress progress_;
};

/// Bytes of every value.
inline std::string text_of_size(int64_t size, int salt) {
  std::string text(static_cast<std::size_t>(size), '\0');
  for (int64_t i = 0; i < size; ++i)
    text[static_cast<std::size_t>(i)] = static_cast<char>((i * 31 + i / 256 * 7 + salt) % 256);
  return text;
}

}  // namespace longspan
