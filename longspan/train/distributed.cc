#include "longspan/train/distributed.h"

#ifndef USE_C10D_GLOO  // torch's own CMake files define it
#define USE_C10D_GLOO
#endif
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "longspan/base/check.h"

namespace longspan::train {

namespace {

const char* variable(const char* name) {
  const char* text = std::getenv(name);
  return text && *text ? text : nullptr;
}

int64_t integer(const char* name, int64_t least, int64_t most) {
  const char* text = variable(name);
  LONGSPAN_CHECK(text, name, ": is not set, but other variables of torchrun are");
  const std::string_view view = text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  LONGSPAN_CHECK(error == std::errc() && end == view.data() + view.size() && value >= least && value <= most, name,
                 ": expected an integer from ", least, " to ", most, ", got '", view, "'");
  return value;
}

/// Messages of c10d may carry a trace of calls.
std::string first_line(const char* text) {
  const std::string_view view = text;
  return std::string(view.substr(0, view.find('\n')));
}

/// What goes wrong between processes is one line.
template <class Call>
auto exchange(const char* what, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw RunError(
        str_cat("train: another process was lost or did not answer while ", what, ": ", first_line(error.what())));
  }
}

std::shared_ptr<gloo::transport::Device> device_towards(const std::string& address) {
  if (const char* name = variable("GLOO_SOCKET_IFNAME")) return c10d::ProcessGroupGloo::createDeviceForInterface(name);
  // The name of this machine need not lead to an address where the others can reach it, but here all are on it.
  if (address == "localhost" || address.starts_with("127."))
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

at::Tensor tensor_of(const std::vector<double>& values) {
  at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<double>());
  return out;
}

std::vector<double> values_of(const at::Tensor& tensor) {
  const double* data = tensor.const_data_ptr<double>();
  return {data, data + tensor.numel()};
}

}  // namespace

Placement placement_from_environment() {
  Placement out;
  if (!variable("RANK") && !variable("WORLD_SIZE")) return out;
  constexpr int64_t kMost = 1 << 20;
  out.size = integer("WORLD_SIZE", 1, kMost);
  out.rank = integer("RANK", 0, out.size - 1);
  if (out.size == 1) return out;
  const char* address = variable("MASTER_ADDR");
  LONGSPAN_CHECK(address, "MASTER_ADDR: is not set, but WORLD_SIZE is ", out.size);
  out.address = address;
  out.port = integer("MASTER_PORT", 1, 65535);
  return out;
}

struct Peers::Group {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  int64_t comparisons = 0;

  void all_reduce(at::Tensor& tensor) const {
    std::vector<at::Tensor> tensors = {tensor};
    gloo->allreduce(tensors)->wait();
  }
  /// One tensor of every process, all alike.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) const {
    std::vector<at::Tensor> in = {tensor};
    std::vector<std::vector<at::Tensor>> out(1);
    for (int i = 0; i < gloo->getSize(); ++i) out[0].push_back(at::empty_like(tensor));
    gloo->allgather(out, in)->wait();
    return out[0];
  }
};

namespace {

/// Where processes leave each other notes, before they meet and besides.
struct NoteBoard {
  c10::intrusive_ptr<c10d::Store> store;
  bool own = false;  ///< it ends with this process
};

NoteBoard note_board(const Placement& placement, std::chrono::seconds timeout) {
  // torchrun may keep the store itself, and start the processes again under other names.
  const char* agent = variable("TORCHELASTIC_USE_AGENT_STORE");
  const char* attempt = variable("TORCHELASTIC_RESTART_COUNT");
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(placement.port);
  options.isServer = placement.rank == 0 && !(agent && std::string_view(agent) == "True");
  options.numWorkers = static_cast<std::size_t>(placement.size);
  options.waitWorkers = false;
  options.timeout = timeout;
  NoteBoard board{
      c10::make_intrusive<c10d::PrefixStore>(str_cat("longspan/", attempt ? attempt : "0"),
                                             c10::make_intrusive<c10d::TCPStore>(placement.address, options)),
      options.isServer};
  board.store->setTimeout(timeout);
  return board;
}

/// Present: the process has come so far; its text says why it cannot go on, "" where it can.
std::string arrival(int64_t rank) { return str_cat("arrival/", rank); }
/// How many processes go on or end knowing that another one cannot.
constexpr const char* kInformed = "informed";
constexpr std::chrono::milliseconds kLook{100};

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

void Peers::report_failure(const Placement& placement, int64_t timeout_seconds, const std::string& reason) noexcept {
  try {
    const std::chrono::seconds timeout(timeout_seconds);
    const auto end = std::chrono::steady_clock::now() + timeout;
    const NoteBoard board = note_board(placement, timeout);
    board.store->set(arrival(placement.rank), bytes_of(reason));
    board.store->add(kInformed, 1);
    while (board.own && board.store->add(kInformed, 0) < placement.size && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kLook);
  } catch (...) {  // then they wait until their time is up
  }
}

Peers::Peers(const Placement& placement, int64_t timeout_seconds, const std::function<void()>& on_wait)
    : group_(std::make_unique<Group>()), rank_(placement.rank), size_(placement.size) {
  const std::chrono::seconds timeout(timeout_seconds);
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::string failure;
  std::exception_ptr stopped;
  exchange("they were to meet", [&] {
    const NoteBoard board = note_board(placement, timeout);
    group_->store = board.store;
    group_->store->set(arrival(rank_), std::vector<uint8_t>());
    for (int64_t peer = 0; peer < size_ && failure.empty(); ++peer) {
      while (!group_->store->check({arrival(peer)})) {
        try {
          if (on_wait) on_wait();
        } catch (...) {
          stopped = std::current_exception();  // no failure of an exchange
          return;
        }
        if (std::chrono::steady_clock::now() >= end)
          throw RunError(str_cat("train: process ", peer, " did not come within ", timeout_seconds, " seconds"));
        std::this_thread::sleep_for(kLook);
      }
      const std::vector<uint8_t> text = group_->store->get(arrival(peer));
      if (text.empty()) continue;
      failure = str_cat("train: process ", peer, " cannot take part: ", std::string(text.begin(), text.end()));
      group_->store->add(kInformed, 1);
      // Whoever keeps the board waits for those that have not read it.
      while (board.own && group_->store->add(kInformed, 0) < size_ && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(kLook);
    }
    if (!failure.empty()) return;
    auto gloo = c10d::ProcessGroupGloo::Options::create(timeout);
    gloo->devices.push_back(device_towards(placement.address));
    group_->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(group_->store, static_cast<int>(rank_),
                                                               static_cast<int>(size_), gloo);
  });
  if (stopped) std::rethrow_exception(stopped);
  if (!failure.empty()) throw RunError(failure);
}

Peers::~Peers() = default;

void Peers::sum(const std::vector<at::Tensor>& tensors) {
  exchange("gradients were summed", [&] {
    for (std::size_t begin = 0, end = 0; begin < tensors.size(); begin = end) {
      std::vector<at::Tensor> parts;
      for (int64_t numbers = 0; end < tensors.size() && (end == begin || numbers + tensors[end].numel() <= kExchanged);
           ++end) {
        parts.push_back(tensors[end].flatten());
        numbers += tensors[end].numel();
      }
      at::Tensor flat = at::cat(parts);
      group_->all_reduce(flat);
      int64_t at = 0;
      for (std::size_t i = begin; i < end; ++i) {
        at::Tensor target = tensors[i];
        target.copy_(flat.narrow(0, at, target.numel()).view(target.sizes()));
        at += target.numel();
      }
    }
  });
}

std::vector<double> Peers::sum(const std::vector<double>& values) {
  std::vector<double> out(values.size(), 0);
  const std::vector<double> all = gather(values);
  for (std::size_t i = 0; i < all.size(); ++i) out[i % values.size()] += all[i];
  return out;
}

std::vector<double> Peers::gather(const std::vector<double>& values) {
  if (values.empty()) return {};
  return exchange("numbers were exchanged", [&] { return values_of(at::cat(group_->all_gather(tensor_of(values)))); });
}

at::Tensor Peers::gather_rows(const at::Tensor& rows) {
  std::vector<double> sizes;
  for (const int64_t size : rows.sizes()) sizes.push_back(static_cast<double>(size));
  const std::vector<double> all = gather(sizes);
  std::vector<int64_t> padding;
  for (int64_t dim = rows.dim() - 1; dim >= 1; --dim) {
    int64_t longest = 0;
    for (int64_t peer = 0; peer < size_; ++peer)
      longest = std::max(longest, static_cast<int64_t>(all[static_cast<std::size_t>(peer * rows.dim() + dim)]));
    padding.insert(padding.end(), {0, longest - rows.size(dim)});
  }
  const at::Tensor padded = at::constant_pad_nd(rows.detach(), padding).contiguous();
  if (padded.numel() == 0) {
    std::vector<int64_t> shape = padded.sizes().vec();
    shape[0] *= size_;
    return at::empty(shape, padded.options());
  }
  return exchange("states were gathered", [&] {
    // As bytes: Gloo does not know every dtype.
    std::vector<at::Tensor> parts = group_->all_gather(padded.flatten().view(at::kByte));
    for (at::Tensor& part : parts) part = part.view(padded.scalar_type()).view(padded.sizes());
    return at::cat(parts);
  });
}

bool Peers::any(bool value) {
  const std::vector<double> all = gather({value ? 1.0 : 0.0});
  return std::any_of(all.begin(), all.end(), [](double one) { return one != 0; });
}

void Peers::check_equal(const std::string& what, const std::string& text) {
  const int64_t number = group_->comparisons++;
  const auto key = [&](int64_t peer) { return str_cat("equal/", number, "/", peer); };
  exchange("settings were compared", [&] {
    group_->store->set(key(rank_), std::vector<uint8_t>(text.begin(), text.end()));
    const std::vector<uint8_t> first = group_->store->get(key(0));
    for (int64_t peer = 1; peer < size_; ++peer) {
      const std::vector<uint8_t> other = group_->store->get(key(peer));
      LONGSPAN_CHECK(other == first, what, " of process ", peer, " are not those of process 0");
    }
  });
}

}  // namespace longspan::train
