#include "longspan/train/document_packs.h"

#include <algorithm>

#include "longspan/base/rng.h"

namespace longspan::train {

namespace {
/// Keeps the streams apart from those of other users of the same seed ("docs" in ASCII).
constexpr uint64_t kPurpose = 0x646F6373;
}  // namespace

DocumentPacks::DocumentPacks(const TokenFile& tokens, const DocumentIndex& documents, const TrainOptions& options)
    : tokens_(tokens), documents_(documents), options_(options) {
  LONGSPAN_CHECK(documents.size() < tokens.size(), tokens.path(), ": its ", documents.size(),
                 " documents have one token each, so there is nothing to predict");
}

std::vector<Span> DocumentPacks::row(int64_t step, int64_t row) const {
  Rng rng(static_cast<uint64_t>(options_.seed),
          stream_of({kPurpose, static_cast<uint64_t>(step), static_cast<uint64_t>(row)}));
  std::vector<Span> out;
  for (int64_t room = options_.length; room > 0;) {
    const auto token = static_cast<int64_t>(rng.below(static_cast<uint64_t>(tokens_.size())));
    const int64_t document = documents_.find(token);
    const int64_t begin = documents_.begin(document), last = documents_.end(document) - 1;
    if (token == last) continue;  // predicts nothing
    const int64_t piece = begin + (token - begin) / options_.length * options_.length;
    const int64_t size = std::min({options_.length, last - piece, room});
    out.push_back({piece, size});
    room -= size;
  }
  return out;
}

at::Tensor DocumentPacks::nll(models::LanguageModel& model, int64_t step, const Rows& rows, uint64_t dropout_seed) {
  std::vector<Span> spans;
  for (int64_t i = rows.first; i < rows.first + rows.count; ++i) {
    const std::vector<Span> more = row(step, i);
    spans.insert(spans.end(), more.begin(), more.end());
  }
  const TokenPack pack = read_pack(tokens_, spans);
  note(pack.inputs);
  return packed_nll(model, pack, {dropout_seed, rows.first * options_.length}, options_.loss_chunk);
}

}  // namespace longspan::train
