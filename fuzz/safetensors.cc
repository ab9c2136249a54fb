// Safetensors files: weights, checkpoints, anything a user downloads.
#include "longspan/io/safetensors.h"

#include "fuzz/fuzz.h"
#include "longspan/base/check.h"

namespace longspan::fuzz {
namespace {

/// Every byte of the data belongs to one tensor, whose shape says how many they are.
void check_accepted(const SafetensorsFile& file, std::size_t file_size) {
  std::size_t bytes = 0;
  for (const auto& [name, info] : file.tensors()) {
    int64_t elements = 1;
    for (const int64_t size : info.shape) elements *= size;
    FUZZ_CHECK(elements == info.elements());
    std::string copy(info.bytes.size(), '\0');
    file.copy_to(name, copy.data());
    bytes += copy.size();
  }
  FUZZ_CHECK(bytes <= file_size);
}

/// What was read can be written, and is then read as it was.
void check_round_trip(const SafetensorsFile& file, const Folder& folder) {
  std::vector<TensorToWrite> tensors;
  for (const auto& [name, info] : file.tensors()) tensors.push_back({name, info.dtype, info.shape, info.bytes.data()});
  const std::string path = folder.path() + "/again";
  try {
    write_safetensors(path, tensors, file.metadata());
  } catch (const InputError&) {  // an empty name, which the reader lets pass
    FUZZ_CHECK(file.contains(""));
    return;
  }
  const SafetensorsFile again(path);
  FUZZ_CHECK(again.metadata() == file.metadata());
  FUZZ_CHECK(again.tensors().size() == file.tensors().size());
  for (const auto& [name, info] : file.tensors()) {
    const TensorInfo& other = again.at(name);
    FUZZ_CHECK(other.dtype == info.dtype && other.shape == info.shape);
    FUZZ_CHECK(std::ranges::equal(other.bytes, info.bytes));
  }
}

}  // namespace
}  // namespace longspan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace longspan;
  static const fuzz::Folder folder;
  const std::string path = folder.put("input", fuzz::text_of(data, size));
  try {
    const SafetensorsFile file(path);
    fuzz::check_accepted(file, size);
    fuzz::check_round_trip(file, folder);
  } catch (const InputError&) {
  }
  return 0;
}
