#include "base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace glovebox {

bool ensure_standard_streams() noexcept {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one, since those below it are open.
    if (::open("/dev/null", O_RDWR) != stream) return false;
  }
  return true;
}

}  // namespace glovebox
