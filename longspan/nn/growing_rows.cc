#include "longspan/nn/growing_rows.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "longspan/base/check.h"

namespace longspan::nn {
namespace {

constexpr int64_t kLeastRows = 16;

/// What stands behind the storage of rows that grow.
struct Room {
  c10::DataPtr memory;
  int64_t rows;               ///< that there is memory for
  std::atomic<int64_t> used;  ///< rows that a tensor has
};

void leave(void* room) { delete static_cast<Room*>(room); }

/// The first `rows` of the rows in `storage`, shaped as `like`. A tensor of its own: one that was saved for a backward
/// pass must not see that others use the storage.
at::Tensor rows_in(const c10::Storage& storage, const at::Tensor& like, int64_t dim, int64_t rows, int64_t room) {
  std::vector<int64_t> sizes = like.sizes().vec(), strides(sizes.size());
  sizes[static_cast<std::size_t>(dim)] = room;
  int64_t stride = 1;
  for (std::size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) strides[d] = stride;
  sizes[static_cast<std::size_t>(dim)] = rows;
  return at::empty({0}, like.options()).set_(storage, 0, sizes, strides);
}

/// The room that the rows of `old` have behind them; nullptr where they have none.
Room* room_of(const at::Tensor& old, int64_t dim) {
  if (!old.has_storage() || old.storage_offset() != 0) return nullptr;
  Room* const room = old.storage().data_ptr().cast_context<Room>(&leave);
  if (room == nullptr) return nullptr;
  return old.strides() == rows_in(old.storage(), old, dim, old.size(dim), room->rows).strides() ? room : nullptr;
}

}  // namespace

at::Tensor append_rows(const at::Tensor& old, const at::Tensor& added, int64_t dim) {
  LONGSPAN_ASSERT(old.dim() == added.dim() && old.scalar_type() == added.scalar_type(), "rows of another kind");
  const bool records = at::GradMode::is_enabled() && (old.requires_grad() || added.requires_grad());
  if (records || !old.is_cpu() || !added.is_cpu()) return at::cat({old, added}, dim);
  const int64_t before = old.size(dim), count = added.size(dim), rows = before + count;
  if (count == 0) return old;
  Room* const room = room_of(old, dim);
  int64_t expected = before;
  if (room != nullptr && rows <= room->rows && room->used.compare_exchange_strong(expected, rows)) {
    at::Tensor out = rows_in(old.storage(), old, dim, rows, room->rows);
    out.narrow(dim, before, count).copy_(added);
    return out;
  }
  const int64_t size = std::max(rows + rows / 2, kLeastRows);
  const int64_t bytes = old.numel() > 0 || added.numel() > 0
                            ? added.numel() / count * size * static_cast<int64_t>(added.element_size())
                            : 0;
  auto* fresh = new Room{c10::GetCPUAllocator()->allocate(static_cast<std::size_t>(bytes)), size, rows};
  void* const data = fresh->memory.get();
  c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes),
                       c10::DataPtr(data, fresh, &leave, at::Device(at::kCPU)), /*allocator=*/nullptr,
                       /*resizable=*/false);
  at::Tensor out = rows_in(storage, added, dim, rows, size);
  out.narrow(dim, 0, before).copy_(old);
  out.narrow(dim, before, count).copy_(added);
  return out;
}

}  // namespace longspan::nn
