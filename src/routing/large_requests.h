// Large bodies of requests: parsed on a worker thread, so that the server's one thread is free for
// other clients.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/task.h"
#include "http/message.h"

namespace glovebox::routing {

inline constexpr std::size_t kLargestInlineBody = 256 * 1024;

// Runs on the worker thread: uses only its arguments.
template <class Parsed>
Task<Parsed> parse_text(std::shared_ptr<const std::string> text,
                        Result<Parsed> (*parse)(std::string_view)) {
  co_return parse(*text);
}

// Parses the request's body, a large one on the worker. `parse` uses nothing but its argument; the
// body is there again when this returns. `worker` is borrowed and outlives the call.
template <class Parsed>
Task<Parsed> parse_body(asio::thread_pool& worker, http::Request& request,
                        Result<Parsed> (*parse)(std::string_view)) {
  if (request.body.size() <= kLargestInlineBody) co_return parse(request.body);
  // The worker shares the text: it may still be reading when the server ends.
  auto text = std::make_shared<std::string>(std::move(request.body));
  Task<Parsed> parsing = parse_text<Parsed>(text, parse);
  Result<Parsed> parsed = co_await asio::co_spawn(worker, std::move(parsing), asio::use_awaitable);
  request.body = std::move(*text);
  co_return parsed;
}

}  // namespace glovebox::routing
