// Reads a text today and goes on with it tomorrow: a session in a file, and the same bits as without the break.
#include <torch/types.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "longspan/models/generate.h"
#include "longspan/models/session_file.h"
#include "longspan/models/stream_reader.h"
#include "longspan/text/byte_tokenizer.h"

namespace {

namespace models = longspan::models;

/// A program would call models::load_model(folder); here weights as they are drawn.
std::shared_ptr<models::LanguageModel> make_model() {
  models::ModelConfig config;
  config.attention = "lavo";
  config.attention_options = {{"r", int64_t{8}}, {"w", int64_t{16}}};
  config.layers = 2;
  config.width = 64;
  config.heads = 4;
  config.feed_forward = 128;
  config.vocabulary = 256;
  auto model = std::make_shared<models::LanguageModel>(config);
  model->eval();
  return model;
}

std::vector<int64_t> encode(const std::string& text) {
  const std::vector<uint32_t> tokens = longspan::ByteTokenizer().encode(text);
  return {tokens.begin(), tokens.end()};
}

/// Sum of negative log-likelihoods in nats; the first token of a stream has none.
double sum(const std::vector<double>& nll) {
  double total = 0;
  for (const double value : nll)
    if (!std::isnan(value)) total += value;
  return total;
}

/// Reads `text` into the session; nats of what was read.
double read(models::LanguageModel& model, models::Session& session, const std::string& text) {
  models::StreamReader reader(model, session);
  std::vector<double> nll = reader.read(encode(text));
  const std::vector<double> rest = reader.flush();
  nll.insert(nll.end(), rest.begin(), rest.end());
  return sum(nll);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string path =
        argc > 1 ? argv[1] : (std::filesystem::temp_directory_path() / "longspan-example.state").string();
    const auto loaded = make_model();
    models::LanguageModel& model = *loaded;
    const std::string today = "The sea was calm and a ship came in. ",
                      tomorrow = "It had no sail and nobody was on board.";

    models::Session session = models::begin_session(model);
    const double nats = read(model, session, today);
    models::save_session(path, model, session);  // whole or not at all; bound to this model

    models::Session again = models::load_session(path, model);  // in another process, say
    const double more = read(model, again, tomorrow);
    const double unbroken = read(model, session, tomorrow);
    std::printf("%.6f nats today, %.6f tomorrow, %.6f without the break: %s\n", nats, more, unbroken,
                more == unbroken ? "the same bits" : "DIFFERENT");

    models::GenerateOptions options;
    options.tokens = 20;
    options.seed = 3;
    const bool same = models::generate(model, again, options) == models::generate(model, session, options);
    std::printf("20 tokens drawn from each: %s\n", same ? "the same" : "DIFFERENT");
    std::filesystem::remove(path);
    return more == unbroken && same ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "save_load_state: %s\n", error.what());
    return 1;
  }
}
