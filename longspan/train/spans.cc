#include "longspan/train/spans.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "longspan/nn/packing.h"

namespace longspan::train {

std::vector<Span> within_documents(const DocumentIndex& documents, int64_t begin, int64_t size) {
  std::vector<Span> out;
  const int64_t end = begin + size;
  for (int64_t at = begin, document = size > 0 ? documents.find(begin) : 0; at < end; ++document) {
    const int64_t border = documents.end(document);
    const int64_t last = std::min(end, border - 1);
    if (last > at) out.push_back({at, last - at});
    at = border;
  }
  return out;
}

int64_t total_size(const std::vector<Span>& spans) {
  int64_t total = 0;
  for (const Span& span : spans) total += span.size;
  return total;
}

TokenPack read_pack(const TokenFile& tokens, const std::vector<Span>& spans) {
  const int64_t total = total_size(spans);
  TokenPack out{at::empty({1, total}, at::kLong), at::empty({1, total}, at::kLong), {}};
  std::vector<int64_t> lengths;
  int64_t at = 0;
  for (const Span& span : spans) {
    tokens.copy_to(out.inputs.mutable_data_ptr<int64_t>() + at, span.begin, span.size);
    tokens.copy_to(out.targets.mutable_data_ptr<int64_t>() + at, span.begin + 1, span.size);
    lengths.push_back(span.size);
    at += span.size;
  }
  out.cu_seqlens = nn::cu_from_lengths(lengths);
  return out;
}

at::Tensor packed_nll(models::LanguageModel& model, const TokenPack& pack, const models::DropoutKey& dropout,
                      int64_t chunk) {
  models::TokenInputs inputs;
  inputs.cu_seqlens = pack.cu_seqlens;
  inputs.dropout = dropout;
  return model.nll(model.hidden(pack.inputs, inputs), pack.targets, chunk).flatten();
}

at::Tensor read_rows(const TokenFile& tokens, const std::vector<int64_t>& begins, int64_t size) {
  at::Tensor out = at::empty({static_cast<int64_t>(begins.size()), size + 1}, at::kLong);
  int64_t* data = out.mutable_data_ptr<int64_t>();
  for (std::size_t row = 0; row < begins.size(); ++row)
    tokens.copy_to(data + static_cast<int64_t>(row) * (size + 1), begins[row], size + 1);
  return out;
}

}  // namespace longspan::train
