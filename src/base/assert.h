// GBX_ASSERT: an invariant, also checked in release builds. If it is broken, the process dies, and
// the program that started it decides what to do next.
#pragma once

namespace glovebox {
[[noreturn]] void assertion_failed(const char* what, const char* file, int line) noexcept;
}

#define GBX_ASSERT(condition)         \
  ((condition) ? static_cast<void>(0) \
               : ::glovebox::assertion_failed(#condition, __FILE__, __LINE__))
