// Training by several processes: every one has the whole model and works off its own rows of each step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace longspan::train {

/// Gradients travel in pieces of this many numbers: few exchanges, and little memory besides.
inline constexpr int64_t kExchanged = int64_t{1} << 22;

/// Where torchrun has placed this process.
struct Placement {
  std::string address;  ///< MASTER_ADDR and MASTER_PORT: where the processes meet
  int64_t port = 0;
  int64_t rank = 0;  ///< RANK
  int64_t size = 1;  ///< WORLD_SIZE
};

/// From the environment variables of torchrun; size 1 without them. InputError naming the variable that is missing or
/// wrong when some are there.
Placement placement_from_environment();

/// The processes of a run, this one among them, by torch's c10d over Gloo. All of them must call the same functions in
/// the same order. Sums are formed in an order that the number of processes fixes, and every process gets the same
/// bits. RunError, naming what was going on, when another process is lost or does not answer within `timeout` seconds.
class Peers {
 public:
  /// Meets the others; RunError when they do not come in time, or when one of them says that it cannot
  /// (report_failure). `on_wait` is called several times a second meanwhile; what it throws passes through.
  Peers(const Placement& placement, int64_t timeout_seconds, const std::function<void()>& on_wait = {});
  /// Instead of meeting the others: tells them why this process cannot take part, so that none waits for it in vain.
  /// Returns when they know, or after `timeout_seconds`; throws nothing.
  static void report_failure(const Placement& placement, int64_t timeout_seconds, const std::string& reason) noexcept;
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }

  /// Replaces every tensor (contiguous float32) by its sum over the processes.
  void sum(const std::vector<at::Tensor>& tensors);
  /// Element by element.
  std::vector<double> sum(const std::vector<double>& values);
  /// The values of all processes, those of rank 0 first; every process gives as many.
  std::vector<double> gather(const std::vector<double>& values);
  /// The rows of all processes, those of rank 0 first: every process gives as many rows of one dtype. Other dimensions
  /// are padded with zeros to the longest.
  at::Tensor gather_rows(const at::Tensor& rows);
  /// Whether any process says so.
  bool any(bool value);
  /// InputError at every process unless all give the same text; `what` begins the message.
  void check_equal(const std::string& what, const std::string& text);

 private:
  struct Group;
  std::unique_ptr<Group> group_;
  int64_t rank_, size_;
};

}  // namespace longspan::train
