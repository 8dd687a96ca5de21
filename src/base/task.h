// Task<T>: a coroutine that ends with a Result<T>. One io_context, one thread: a Task runs where it
// was spawned, so nothing here locks.
//
// Name it before you await it: GCC 12 destroys a braced struct or a capturing lambda that is
// written inside a co_await expression twice. Parameters of a Task are taken by value, except
// objects that outlive every request.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/result.h"

// GCC 12 sees asio's operator new and delete of a coroutine frame as mismatched once
// it has inlined one of them (PR103993); every coroutine would meet it, so the warning is off for
// them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace glovebox {

namespace asio = boost::asio;

template <class T = void>
using Task = asio::awaitable<Result<T>>;

// The completion token of this project: errors come back as values, as the first of a tuple.
//   auto [ec] = co_await timer.async_wait(kAwaitTuple);
inline constexpr auto kAwaitTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace glovebox

#define GBX_CO_TRY_(tmp, decl, expr)                            \
  auto tmp = (expr);                                            \
  if (!tmp) co_return ::glovebox::fail(std::move(tmp.error())); \
  decl = std::move(*tmp)

// TRY inside a coroutine: CO_TRY(Sandbox sandbox, co_await node.start(request));
#define CO_TRY(decl, ...) GBX_CO_TRY_(GBX_CONCAT(gbx_co_try_, __LINE__), decl, (__VA_ARGS__))
#define CO_TRY_OK(...)                                                                  \
  do {                                                                                  \
    auto gbx_co_try_ok_ = (__VA_ARGS__);                                                \
    if (!gbx_co_try_ok_) co_return ::glovebox::fail(std::move(gbx_co_try_ok_.error())); \
  } while (false)
