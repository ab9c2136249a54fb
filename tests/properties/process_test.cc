// A state goes to a file and is read on in another process: this program starts itself again with a file to continue from.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "longspan/io/safetensors.h"
#include "subjects.h"

extern char** environ;

namespace longspan::testing {
namespace {

DType dtype_of(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kDouble) return DType::f64;
  if (tensor.scalar_type() == at::kFloat) return DType::f32;
  EXPECT_EQ(tensor.scalar_type(), at::kLong);
  return DType::i64;
}

void write(const std::string& path, const std::map<std::string, at::Tensor>& tensors) {
  std::vector<at::Tensor> alive;
  std::vector<TensorToWrite> items;
  for (const auto& [name, tensor] : tensors) {
    alive.push_back(tensor.detach().contiguous());
    items.push_back({name, dtype_of(tensor), tensor.sizes().vec(), alive.back().data_ptr()});
  }
  write_safetensors(path, std::move(items));
}

std::map<std::string, at::Tensor> read(const std::string& path) {
  const SafetensorsFile file(path);
  std::map<std::string, at::Tensor> out;
  for (const auto& [name, info] : file.tensors()) {
    const auto type = info.dtype == DType::f64 ? at::kDouble : info.dtype == DType::f32 ? at::kFloat : at::kLong;
    auto tensor = at::empty(info.shape, at::TensorOptions().dtype(type));
    file.copy_to(name, tensor.data_ptr());
    out[name] = tensor;
  }
  return out;
}

constexpr int64_t kBatch = 2, kLength = 300, kCut = 150;

struct Scene {
  nn::AttentionPtr module;
  at::Tensor x, source;
};

// The same in both processes.
Scene make_scene(const RegisteredSubject& subject) {
  torch::manual_seed(7);
  Scene scene;
  scene.module = subject.make();
  scene.module->to(subject.dtype);
  const auto options = at::TensorOptions().dtype(subject.dtype);
  scene.x = at::randn({kBatch, kLength, scene.module->sizes().width}, options);
  scene.source = at::randn({kBatch, 40, scene.module->sizes().width}, options);
  return scene;
}

class Process : public ::testing::TestWithParam<RegisteredSubject> {};

TEST_P(Process, GoesOnFromAFile) {
  at::NoGradGuard no_grad;
  auto scene = make_scene(GetParam());
  if (GetParam().pattern == nn::Pattern::noncausal_self) return;  // reads no streams
  auto state = nn::is_cross(GetParam().pattern) ? scene.module->begin(scene.source) : scene.module->begin(kBatch);
  scene.module->extend(state, scene.x.narrow(1, 0, kCut));

  const auto folder = std::filesystem::temp_directory_path() / ("longspan-process-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string before = folder / "state.safetensors", after = folder / "output.safetensors";
  write(before, state.tensors());

  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::string> arguments = {self, "--continue", GetParam().test_name(), before, after};
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, self.c_str(), nullptr, nullptr, argv.data(), environ), 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);

  const auto expected = scene.module->extend(state, scene.x.narrow(1, kCut, kLength - kCut));
  auto actual = read(after);
  EXPECT_TRUE(at::equal(actual.at("y"), expected));
  for (const auto& [name, tensor] : state.tensors()) EXPECT_TRUE(at::equal(actual.at("state." + name), tensor)) << name;
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Properties, Process, ::testing::ValuesIn(registered_subjects(true)),
                         [](const auto& info) { return info.param.test_name(); });

int continue_from(const std::string& name, const std::string& before, const std::string& after) {
  at::NoGradGuard no_grad;
  for (const auto& subject : registered_subjects(true)) {
    if (subject.test_name() != name) continue;
    auto scene = make_scene(subject);
    nn::State state(read(before));
    std::map<std::string, at::Tensor> out;
    out["y"] = scene.module->extend(state, scene.x.narrow(1, kCut, kLength - kCut));
    for (const auto& [field, tensor] : state.tensors()) out["state." + field] = tensor;
    write(after, out);
    return 0;
  }
  return 1;
}

}  // namespace
}  // namespace longspan::testing

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--continue") == 0) return longspan::testing::continue_from(argv[2], argv[3], argv[4]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
