#include "tools/longspan/task/model_folder.h"

#include <filesystem>
#include <system_error>

#include "longspan/train/checkpoint_store.h"

namespace longspan::tool {

std::string model_to_read(const std::string& folder, bool latest) {
  const std::filesystem::path best = std::filesystem::path(folder) / train::kBestModel;
  std::error_code unknown;
  return !latest && std::filesystem::exists(best / "config.json", unknown) ? best.string() : folder;
}

}  // namespace longspan::tool
