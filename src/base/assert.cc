#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace glovebox {

void assertion_failed(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "glovebox: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace glovebox
