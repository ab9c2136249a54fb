// Stands in for libFuzzer where a target is built without it: runs every file of a corpus once, `fuzz_NAME FOLDER`.
#include <exception>
#include <fstream>
#include <iterator>

#include "fuzz/fuzz.h"

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
      std::printf("%s\n", path.c_str());  // before it runs: the last line names the one that stopped the program
      std::fflush(stdout);
      std::ifstream in(path, std::ios::binary);
      const std::string content{std::istreambuf_iterator<char>(in), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(content.data()), content.size());
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
