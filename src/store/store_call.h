// Waiting for the store inside a coroutine: its callback becomes the value of a co_await.
//
//   const Ask<RunPage> ask = [&](auto done) { store.list_runs(project, filter, done); };
//   CO_TRY(RunPage page, co_await store_call(ask));
#pragma once

#include <boost/asio/async_result.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "base/task.h"
#include "store/callback.h"

namespace glovebox::store {

template <class T>
using Ask = std::function<void(store::Callback<T>)>;

// The handler is shared because std::function wants what can be copied, and a handler cannot. The
// store answers later and on this thread, as asio expects of an operation.
template <class T>
Task<T> store_call(Ask<T> ask) {
  auto initiate = [ask = std::move(ask)](auto handler) mutable {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    ask([shared](Result<T> result) { std::move (*shared)(std::move(result)); });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<T>)>(
      std::move(initiate), asio::use_awaitable);
}

}  // namespace glovebox::store
