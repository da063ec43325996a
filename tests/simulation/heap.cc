// The heap of this program: for one thread, and for lives that are all alike.
//
// A fourth of a life's time would go into the C library's heap: coroutine frames are larger than
// what that keeps at hand. Here a block comes from the list of its size and goes back there, and
// nothing is ever given back to the kernel but what is very large. Every job is a process of one
// thread, so there is nothing to lock. A sanitizer brings its own heap, and this one stays out.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr size_t kUnit = 16;
constexpr size_t kSmall = 8 * 1024;         // up to here every multiple of the unit has its list
constexpr size_t kLarge = 4 * 1024 * 1024;  // up to here every power of two has; beyond it, none
constexpr size_t kSlab = 16 * 1024 * 1024;

// Lies before what the caller gets.
struct alignas(kUnit) Head {
  uint64_t size;  // of the block with its head
  uint32_t list;
  uint32_t shift;  // from the block to its head
};
static_assert(sizeof(Head) == kUnit);

struct Free {
  Free* next;
};

constexpr uint32_t kNoList = UINT32_MAX;
constexpr size_t kSmallLists = kSmall / kUnit + 1;

Free* lists[kSmallLists + 64];
std::byte* slab = nullptr;
size_t slab_left = 0;

std::byte* map(size_t size) {
  void* const got = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return got == MAP_FAILED ? nullptr : static_cast<std::byte*>(got);
}

std::byte* cut(size_t size) {
  if (slab_left < size) {
    slab = map(kSlab);
    slab_left = slab == nullptr ? 0 : kSlab;
    if (slab == nullptr) return nullptr;
  }
  std::byte* const block = slab;
  slab += size;
  slab_left -= size;
  return block;
}

Head* head_of(void* given) { return static_cast<Head*>(given) - 1; }

size_t room_of(void* given) {
  const Head* const head = head_of(given);
  return head->size - head->shift - sizeof(Head);
}

void* take(size_t wanted, size_t alignment) {
  const size_t slack = alignment > kUnit ? alignment : 0;
  if (wanted > SIZE_MAX / 2 - slack) {
    errno = ENOMEM;
    return nullptr;
  }
  size_t size = (wanted + slack + sizeof(Head) + kUnit - 1) / kUnit * kUnit;
  uint32_t list = kNoList;
  if (size <= kSmall) {
    list = static_cast<uint32_t>(size / kUnit);
  } else if (size <= kLarge) {
    size = std::bit_ceil(size);
    list = static_cast<uint32_t>(kSmallLists + static_cast<size_t>(std::countr_zero(size)));
  }
  std::byte* block = nullptr;
  if (list != kNoList && lists[list] != nullptr) {
    block = reinterpret_cast<std::byte*>(lists[list]);
    lists[list] = lists[list]->next;
  } else {
    block = list != kNoList ? cut(size) : map(size);
  }
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  auto at = reinterpret_cast<uintptr_t>(block) + sizeof(Head);
  if (slack != 0) at = (at + alignment - 1) / alignment * alignment;
  void* const given = reinterpret_cast<void*>(at);
  const auto shift = static_cast<uint32_t>(at - sizeof(Head) - reinterpret_cast<uintptr_t>(block));
  *head_of(given) = {size, list, shift};
  return given;
}

void give_back(void* given) {
  const Head head = *head_of(given);
  auto* const block = reinterpret_cast<std::byte*>(head_of(given)) - head.shift;
  if (head.list == kNoList) {
    munmap(block, head.size);
    return;
  }
  lists[head.list] = new (block) Free{lists[head.list]};
}

}  // namespace

extern "C" {

void* malloc(size_t size) { return take(size, kUnit); }

void free(void* given) {
  if (given != nullptr) give_back(given);
}

void* calloc(size_t count, size_t each) {
  size_t size = 0;
  if (__builtin_mul_overflow(count, each, &size)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const given = take(size, kUnit);
  if (given != nullptr) std::memset(given, 0, size);
  return given;
}

void* realloc(void* given, size_t size) {
  if (given == nullptr) return take(size, kUnit);
  const size_t room = room_of(given);
  if (size <= room) return given;
  void* const larger = take(size, kUnit);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, given, room);
  give_back(given);
  return larger;
}

void* aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }
void* memalign(size_t alignment, size_t size) { return take(size, alignment); }

int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const given = take(size, alignment);
  if (given == nullptr) return ENOMEM;
  *out = given;
  return 0;
}

size_t malloc_usable_size(void* given) { return given == nullptr ? 0 : room_of(given); }

}  // extern "C"
