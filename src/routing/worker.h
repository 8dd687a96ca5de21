// The thread for work that would block the server's one thread too long: parsing and writing of
// many megabytes. Owners of requests take turns there (store/fair_thread.h).
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/task.h"
#include "store/fair_thread.h"

namespace glovebox::routing {

class Worker {
 public:
  // Runs `work`, which uses only what it holds, in the owner's turn; the coroutine continues on its
  // own thread. If too much is waiting, the work is done there instead.
  template <class Work>
  asio::awaitable<std::invoke_result_t<Work&>> run(std::string owner, Work work) {
    using Value = std::invoke_result_t<Work&>;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto initiate = [this, &executor, &owner, &work](auto handler) {
      using Handler = decltype(handler);
      struct Call {
        Handler handler;
        Work work;
        asio::executor_work_guard<asio::any_io_executor> loop;  // runs on until the answer is there
      };
      auto call = std::make_shared<Call>(
          Call{std::move(handler), std::move(work), asio::make_work_guard(executor)});
      const bool taken = thread_.run(owner, [call]() mutable {
        auto value = std::make_shared<Value>(call->work());
        // Nothing of the call is left on this thread: the coroutine ends on its own.
        const asio::any_io_executor back = call->loop.get_executor();
        asio::post(
            back, [call = std::move(call), value] { std::move(call->handler)(std::move(*value)); });
      });
      if (!taken) {
        asio::post(executor, [call] { std::move(call->handler)(call->work()); });
      }
    };
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Value)>(
        std::move(initiate), asio::use_awaitable);
  }

 private:
  // One owner has at most half, and no more requests in progress than that.
  store::FairThread thread_{4'096};
};

}  // namespace glovebox::routing
