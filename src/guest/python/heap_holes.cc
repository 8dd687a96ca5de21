#include "guest/python/heap_holes.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace glovebox::python {
namespace {

constexpr size_t kAlignment = 16;

// The interpreter's allocator gives out blocks of up to 512 bytes, from pools of blocks of one
// size; the first of a pool follows the pool's header. Where this does not hold, in another
// version, the bound is what is lost, and no harm is done.
void fill_pools(uintptr_t pool_size) {
  constexpr size_t kLargest = 512;
  constexpr size_t kHeader = 48;
  constexpr size_t kMost = 64 << 10;
  for (size_t size = kAlignment; size <= kLargest; size += kAlignment) {
    for (size_t taken = 0; taken < kMost; taken += size) {
      void* block = PyObject_Malloc(size);
      if (block == nullptr) return;
      if ((reinterpret_cast<uintptr_t>(block) & (pool_size - 1)) == kHeader) {
        PyObject_Free(block);  // a new pool: the next child's
        break;
      }
    }
  }
}

// A block at the end of the heap. Those before it that are not are the largest holes, and stay
// taken.
char* edge_of_heap() {
  constexpr size_t kEdge = 120'000;  // less than what would get a mapping of its own
  constexpr ptrdiff_t kNear = 512 << 10;
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    char* block = static_cast<char*>(malloc(kEdge));
    const char* end = static_cast<char*>(sbrk(0));
    if (block == nullptr || block > end) break;
    if (end - block < kNear) return block;
  }
  return nullptr;
}

// The C library's: what lies below a block at the heap's end is a hole.
void fill_chunks() {
  constexpr size_t kLargest = 32 << 10;
  constexpr size_t kSmall = 1024;  // up to here the library keeps a list for every size
  constexpr int kMost = 2'000;
  char* edge = edge_of_heap();
  if (edge == nullptr) return;
  for (size_t size = kLargest; size >= kAlignment;
       size = size > kSmall ? size - size / 4 : size - kAlignment) {
    for (int count = 0; count < kMost; ++count) {
      char* chunk = static_cast<char*>(malloc(size));
      if (chunk == nullptr || chunk > edge) {
        free(chunk);
        break;
      }
    }
  }
  free(edge);
}

}  // namespace

PyObject* fill_holes(PyObject*, PyObject*) {
  // Pools of four pages since 3.10.
  const char* version = Py_GetVersion();
  const bool small = strncmp(version, "3.8", 3) == 0 || strncmp(version, "3.9", 3) == 0;
  fill_pools(small ? 4 << 10 : 16 << 10);
  fill_chunks();
  Py_RETURN_NONE;
}

}  // namespace glovebox::python
