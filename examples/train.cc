// Trains a tiny LAVO model on a text made here: text file, dataset, trainer with packed documents, accumulation and
// recomputation, model folder.
#include "longspan/train/train.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <string>

#include "longspan/base/progress.h"
#include "longspan/data/write_dataset.h"

namespace {

namespace fs = std::filesystem;

/// A folder that goes when the program does.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "longspan-example-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

/// Sums that are right, a line each.
void write_text(const fs::path& file, int seed) {
  std::ofstream out(file);
  for (int line = 0; line < 1500; ++line) {
    const int a = (line * 7 + seed) % 10, b = (line * 3 + line / 10) % 10;
    out << a << " plus " << b << " is " << a + b << '\n';
  }
}

/// Prints every twentieth step.
struct Report final : longspan::train::TrainObserver {
  void on_step(const longspan::train::StepResult& step) override {
    if (step.step % 20 == 0)
      std::printf("step %3lld  %.3f bits per byte\n", static_cast<long long>(step.step), step.loss / std::numbers::ln2);
  }
  void on_validation(const longspan::train::ValidationResult& result) override {
    validation = result.loss / std::numbers::ln2;
    std::printf("validation: %.3f bits per byte\n", validation);
  }
  double validation = 0;
};

}  // namespace

int main() {
  try {
    const Folder folder;
    const std::string data_folder = folder.path / "data", model_folder = folder.path / "model";
    longspan::DatasetOptions prepare;
    for (int i = 0; i < 3; ++i) {
      const fs::path file = folder.path / ("sums-" + std::to_string(i) + ".txt");
      write_text(file, i);
      prepare.inputs.push_back(file);
    }
    prepare.output = data_folder;
    longspan::NullProgress silent;
    longspan::write_dataset(prepare, silent);
    const longspan::Dataset data(data_folder);

    longspan::models::ModelConfig model;
    model.attention = "lavo";
    model.attention_options = {{"r", int64_t{8}}, {"w", int64_t{16}}};
    model.layers = 2;
    model.width = 32;
    model.heads = 2;
    model.feed_forward = 64;
    model.vocabulary = data.vocabulary();

    longspan::train::TrainOptions options;
    options.steps = 100;
    options.batch = 4;         // packs a step ...
    options.accumulation = 2;  // ... worked off two and two
    options.length = 128;
    options.sequences = longspan::train::Sequences::documents;
    options.recompute = longspan::train::Recompute::blocks;
    options.warmup = 10;
    options.learning_rate = 1e-2;

    longspan::train::Trainer trainer(longspan::train::make_model(model, options.seed),
                                     {.train = &data.split("train"),
                                      .valid = &data.split("valid"),
                                      .train_documents = &data.documents("train"),
                                      .valid_documents = &data.documents("valid")},
                                     options);
    Report report;
    trainer.run(report, model_folder, &data.tokenizer());
    // Digits are free, the rest follows: far below the 8 bits of a byte.
    return report.validation < 2 && fs::exists(fs::path(model_folder) / "model.safetensors") ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 1;
  }
}
