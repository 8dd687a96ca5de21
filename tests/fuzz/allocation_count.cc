// Counts what is allocated, so that a target can bound it. The address sanitizer's allocator tells
// us; without one nothing is counted, and the bound holds by itself.
#include "fuzz_target.h"

#ifdef GBX_COUNT_ALLOCATIONS
// Of the sanitizer's runtime; GCC has it without the header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           std::size_t),
                                                         void (*on_free)(const volatile void*));
#endif

namespace glovebox::fuzz {
namespace {

std::size_t total = 0;

#ifdef GBX_COUNT_ALLOCATIONS
void on_malloc(const volatile void*, std::size_t size) { total += size; }
void on_free(const volatile void*) {}
const int kInstalled = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
#endif

}  // namespace

void reset_allocated() {
#ifdef GBX_COUNT_ALLOCATIONS
  promise(kInstalled != 0, "allocations are counted");
#endif
  total = 0;
}

std::size_t allocated() { return total; }

}  // namespace glovebox::fuzz
