// GBX_ASSERT: an invariant of ours, checked in release builds too. The process dies, and the
// program that started it decides what next; nothing goes on with a broken invariant.
#pragma once

namespace glovebox {
[[noreturn]] void assertion_failed(const char* what, const char* file, int line) noexcept;
}

#define GBX_ASSERT(condition)         \
  ((condition) ? static_cast<void>(0) \
               : ::glovebox::assertion_failed(#condition, __FILE__, __LINE__))
