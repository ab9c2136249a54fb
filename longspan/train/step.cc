// Trainer::step and Trainer::validate.
#include <torch/csrc/autograd/autograd.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "longspan/base/rng.h"
#include "longspan/train/adamw.h"
#include "longspan/train/autocast.h"
#include "longspan/train/distributed.h"
#include "longspan/train/evaluation_mode.h"
#include "longspan/train/spans.h"
#include "longspan/train/sums.h"
#include "longspan/train/train.h"

namespace longspan::train {

namespace {

/// Keep the streams of dropout apart from those of other users of the same seed ("drop" and "attn" in ASCII).
constexpr uint64_t kResidualDropout = 0x64726F70;
constexpr uint64_t kAttentionDropout = 0x6174746E;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

/// Forward and backward of some rows of the step under way, each of whose targets has this weight in the loss; returns
/// the sum of their losses. A sum that is not finite leaves the gradients alone.
double Trainer::accumulate(const Rows& rows, double weight, bool with_penalty) {
  const auto seed = static_cast<uint64_t>(options_.seed), step = static_cast<uint64_t>(step_);
  torch::manual_seed(stream_of({seed, kAttentionDropout, step, static_cast<uint64_t>(rows.first)}));
  at::Tensor nll;
  {
    AutocastGuard autocast(bf16_);
    nll = reader_->nll(*model_, step_, rows, stream_of({seed, kResidualDropout, step}));
  }
  const double sum = ordered_sum(nll);
  if (!std::isfinite(sum)) return sum;
  // The mean's gradient is the same number everywhere, so the sum itself stays out of the graph.
  std::vector<at::Tensor> roots, gradients;
  if (nll.requires_grad()) {
    roots.push_back(nll);
    gradients.push_back(torch::full_like(nll, weight));
  }
  if (const at::Tensor penalty = with_penalty ? model_->auxiliary_loss() : at::Tensor(); penalty.defined()) {
    roots.push_back(penalty);
    gradients.push_back(torch::ones_like(penalty));
  }
  if (!roots.empty()) torch::autograd::backward(roots, gradients);
  return sum;
}

/// Sum over the parts of all processes, in the order of their rows: the same number everywhere.
double Trainer::loss_of_parts(std::vector<double> parts) const {
  if (peers_) parts = peers_->gather(parts);
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

StepResult Trainer::step() {
  const auto start = Clock::now();
  StepResult result;
  result.step = step_ + 1;
  reader_->begin_step();
  result.tokens = reader_->targets(step_);
  LONGSPAN_CHECK(result.tokens > 0, "train: nothing is to be predicted at step ", result.step,
                 ": its documents have one token each");
  result.learning_rate = learning_rate(options_, result.step);

  // Every process takes part in every exchange, also when its own part is not finite: nobody may wait in vain.
  std::vector<double> parts(static_cast<std::size_t>(options_.accumulation), 0);
  const int64_t rows = own_.count / options_.accumulation;
  const double weight = 1 / static_cast<double>(result.tokens);
  for (int64_t part = 0; part < options_.accumulation; ++part) {
    const bool with_penalty = own_.first == 0 && part == 0;
    double& sum = parts[static_cast<std::size_t>(part)];
    sum = accumulate({own_.first + part * rows, rows}, weight, with_penalty);
    if (!std::isfinite(sum)) break;
  }
  result.loss = loss_of_parts(parts) * weight;
  if (!std::isfinite(result.loss)) {
    optimizer_->clear_gradients();
    throw NonFiniteError(str_cat("train: the loss is not finite at step ", result.step));
  }
  if (peers_) peers_->sum(optimizer_->gradients());

  result.grad_norm = optimizer_->gradient_norm();
  if (!std::isfinite(result.grad_norm)) {
    optimizer_->clear_gradients();
    throw NonFiniteError(str_cat("train: the gradient is not finite at step ", result.step));
  }
  optimizer_->step(result.step, result.learning_rate, result.grad_norm);
  model_->after_step();
  reader_->commit();
  step_ = result.step;
  result.seconds = seconds_since(start);
  return result;
}

ValidationResult Trainer::validate() {
  LONGSPAN_CHECK(data_.valid && data_.valid->size() >= 2, "train: there is no validation split to measure");
  const auto start = Clock::now();
  const TokenFile& valid = *data_.valid;
  const int64_t length = std::min(options_.length, valid.size() - 1);
  const int64_t blocks = std::min(options_.valid_blocks, (valid.size() - 1) / length);
  const int64_t stride = blocks > 1 ? (valid.size() - 1 - length) / (blocks - 1) : 0;
  const auto spans_of = [&](int64_t block) -> std::vector<Span> {
    if (has_borders(options_)) return within_documents(*data_.valid_documents, block * stride, length);
    return {{block * stride, length}};
  };

  torch::NoGradGuard no_grad;
  EvaluationMode evaluation(*model_);
  AutocastGuard autocast(bf16_);
  // Every process takes its share of the blocks.
  const int64_t first = peers_ ? peers_->rank() : 0, processes = peers_ ? peers_->size() : 1;
  std::vector<double> sums(static_cast<std::size_t>(blocks), 0);
  ValidationResult result;
  for (int64_t block = 0; block < blocks; ++block) {
    const std::vector<Span> spans = spans_of(block);
    result.tokens += total_size(spans);
    for (const Span& span : spans)
      result.source_bytes += data_.valid_source_bytes ? data_.valid_source_bytes(span.begin + 1, span.size) : span.size;
    if (block % processes != first || spans.empty()) continue;
    const at::Tensor nll = spans.size() > 1
                               ? packed_nll(*model_, read_pack(valid, spans), {}, options_.loss_chunk)
                               : model_->nll(read_rows(valid, {spans[0].begin}, spans[0].size), options_.loss_chunk);
    sums[static_cast<std::size_t>(block)] = ordered_sum(nll);
  }
  if (peers_) sums = peers_->sum(sums);
  double total = 0;
  for (const double sum : sums) total += sum;
  LONGSPAN_CHECK(result.tokens > 0, valid.path(),
                 ": its documents have one token each, so there is nothing to measure");
  result.step = step_;
  result.loss = total / static_cast<double>(result.tokens);
  if (!std::isfinite(result.loss))
    throw NonFiniteError(str_cat("train: the validation loss is not finite at step ", step_));
  result.seconds = seconds_since(start);
  validation_ = result;
  return result;
}

}  // namespace longspan::train
