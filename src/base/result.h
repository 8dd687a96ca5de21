// Result<T>: a value, or an Error. The one way to fail in this project; nothing of ours throws.
// The alias lives here alone, so the day GCC and clang agree on std::expected is a one-line change.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace glovebox {

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> fail(Errc code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}
// What was given cannot be so: the commonest failure of everything that parses.
inline tl::unexpected<Error> fail_invalid(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

}  // namespace glovebox

#define GBX_CONCAT_(a, b) a##b
#define GBX_CONCAT(a, b) GBX_CONCAT_(a, b)
#define GBX_TRY_(tmp, decl, expr)                            \
  auto tmp = (expr);                                         \
  if (!tmp) return ::glovebox::fail(std::move(tmp.error())); \
  decl = std::move(*tmp)

// Declare from a Result, or return its error.
#define TRY(decl, ...) GBX_TRY_(GBX_CONCAT(gbx_try_, __LINE__), decl, (__VA_ARGS__))
// The same with nothing to keep.
#define TRY_OK(...)                                                            \
  do {                                                                         \
    auto gbx_try_ok_ = (__VA_ARGS__);                                          \
    if (!gbx_try_ok_) return ::glovebox::fail(std::move(gbx_try_ok_.error())); \
  } while (false)
