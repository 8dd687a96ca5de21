#include "base/constant_time.h"

#include <cstddef>

namespace glovebox {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // volatile: the compiler may not leave the loop at the first difference.
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto bits = static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    difference = static_cast<unsigned char>(difference | bits);
  }
  return difference == 0;
}

}  // namespace glovebox
