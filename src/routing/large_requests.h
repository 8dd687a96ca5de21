// Large bodies of requests: parsed on the worker thread, so that the server's one thread is free
// for other clients.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/task.h"
#include "http/message.h"
#include "routing/worker.h"

namespace glovebox::routing {

inline constexpr std::size_t kLargestInlineBody = 256 * 1024;

// Parses the text, a large one on the worker in the turn of its owner. `parse` uses nothing but its
// argument and what it holds. `worker` is borrowed and outlives the call.
template <class Parse>
asio::awaitable<std::invoke_result_t<Parse&, std::string_view>> parse_text(Worker& worker,
                                                                           std::string owner,
                                                                           std::string text,
                                                                           Parse parse) {
  if (text.size() <= kLargestInlineBody) co_return parse(std::string_view(text));
  auto parsing = [text = std::move(text), parse]() mutable {
    return parse(std::string_view(text));
  };
  co_return co_await worker.run(std::move(owner), std::move(parsing));
}

// Parses the request's body, a large one on the worker. `parse` uses nothing but its argument and
// what it holds; the body is there again when this returns. `worker` is borrowed and outlives the
// call.
template <class Parse>
asio::awaitable<std::invoke_result_t<Parse&, std::string_view>> parse_body(Worker& worker,
                                                                           http::Request& request,
                                                                           Parse parse) {
  if (request.body.size() <= kLargestInlineBody) co_return parse(std::string_view(request.body));
  // The worker shares the text: it may still be reading when the server ends.
  auto text = std::make_shared<std::string>(std::move(request.body));
  auto parsing = [text, parse]() mutable { return parse(std::string_view(*text)); };
  auto parsed = co_await worker.run(request.owner, std::move(parsing));
  request.body = std::move(*text);
  co_return parsed;
}

}  // namespace glovebox::routing
