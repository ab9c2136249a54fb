#include "longspan/models/session_file.h"

#include <charconv>

#include "longspan/models/state_file.h"

namespace longspan::models {

namespace {

constexpr const char* kFormat = "longspan.session.1";
constexpr const char* kSeed = "seed";
constexpr std::string_view kNote = "note.";
constexpr int64_t kMostText = int64_t{1} << 30;
constexpr int64_t kMostPending = int64_t{1} << 24;

at::Tensor of_tokens(std::span<const int64_t> tokens) {
  return torch::tensor(at::IntArrayRef(tokens.data(), tokens.size()), torch::kLong);
}

std::span<const int64_t> tokens_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<int64_t>(), static_cast<std::size_t>(tensor.numel())};
}

at::Tensor of_text(const std::string& text) {
  at::Tensor out = torch::empty({static_cast<int64_t>(text.size())}, torch::kByte);
  std::copy(text.begin(), text.end(), out.mutable_data_ptr<uint8_t>());
  return out;
}

std::string text_of(const at::Tensor& tensor) {
  const uint8_t* bytes = tensor.const_data_ptr<uint8_t>();
  return {bytes, bytes + tensor.numel()};
}

void check_session(const std::string& path, const NamedTensors& tensors, const LanguageModel& model) {
  const at::Tensor& positions = tensors.at("positions");
  LONGSPAN_CHECK(positions.numel() == 1, path, ": a session holds one stream, got ", positions.numel());
  const int64_t expected = positions.item<int64_t>() > 0 ? model.config().width : 0;
  LONGSPAN_CHECK(tensors.at("session.last").numel() == expected, path, ": tensor 'session.last' must have ", expected,
                 " numbers, got ", tensors.at("session.last").numel());
  for (const char* name : {"session.pending", "session.recent"})
    LONGSPAN_CHECK(tensors.at(name).lt(model.config().vocabulary).all().item<bool>(), path, ": tensor '", name,
                   "' must hold tokens below ", model.config().vocabulary);
}

}  // namespace

void save_session(const std::string& path, const LanguageModel& model, const Session& session) {
  NamedTensors tensors = state_tensors(session.state);
  const at::ScalarType dtype = model.weights().at("embedding").scalar_type();
  tensors["session.last"] = session.last.defined() ? session.last.to(dtype) : torch::empty({0}, dtype);
  tensors["session.pending"] = of_tokens(session.pending);
  tensors["session.recent"] = of_tokens(session.recent.view());
  tensors["session.text"] = of_text(session.text);
  tensors["session.held"] = of_text(session.held);
  Metadata metadata;
  if (session.seed) metadata[kSeed] = std::to_string(*session.seed);
  for (const auto& [name, text] : session.notes) metadata[std::string(kNote) + name] = text;
  write_bound(path, kFormat, model, tensors, std::move(metadata));
}

Session load_session(const std::string& path, const LanguageModel& model) {
  const SafetensorsFile file(path);
  const DType dtype = dtype_of(model.weights().at("embedding"));
  const NamedTensors tensors = read_bound(file, kFormat, model,
                                          {{"session.last", {{dtype}, 1, model.config().width}},
                                           {"session.pending", {{DType::i64}, 1, kMostPending}},
                                           {"session.recent", {{DType::i64}, 1, kRecentTokens}},
                                           {"session.text", {{DType::u8}, 1, kMostText}},
                                           {"session.held", {{DType::u8}, 1, kMostText}}});
  check_session(path, tensors, model);
  Session session;
  session.state = state_from(tensors, model);
  if (tensors.at("session.last").numel() > 0) session.last = tensors.at("session.last");
  const auto pending = tokens_of(tensors.at("session.pending"));
  session.pending.assign(pending.begin(), pending.end());
  session.recent.push(tokens_of(tensors.at("session.recent")));
  session.text = text_of(tensors.at("session.text"));
  session.held = text_of(tensors.at("session.held"));
  for (const auto& [name, text] : file.metadata()) {
    if (name.starts_with(kNote)) session.notes[name.substr(kNote.size())] = text;
    if (name != kSeed) continue;
    int64_t seed = -1;
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, seed);
    LONGSPAN_CHECK(result.ec == std::errc() && result.ptr == end && seed >= 0, path,
                   ": seed must be an integer of at least 0, got ", text);
    session.seed = seed;
  }
  return session;
}

}  // namespace longspan::models
