#include "routing/large_responses.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "wire/runs/run_answer.h"

namespace glovebox::routing {
namespace {

// Runs on the worker thread: uses only its arguments.
asio::awaitable<std::string> write(std::string exit_json, std::shared_ptr<Outcome> outcome) {
  co_return wire::run_answer_json(exit_json, *outcome);
}

}  // namespace

asio::awaitable<std::string> LargeResponses::with_output(std::string exit_json, Outcome outcome) {
  constexpr std::size_t kSmall = 256 * 1024;
  const std::size_t size = outcome.out.size() + outcome.err.size();
  if (size <= kSmall) co_return wire::run_answer_json(exit_json, outcome);
  auto shared = std::make_shared<Outcome>(std::move(outcome));
  asio::awaitable<std::string> writing = write(std::move(exit_json), std::move(shared));
  co_return co_await asio::co_spawn(worker_, std::move(writing), asio::use_awaitable);
}

Result<http::Response> LargeResponses::respond(std::string body) {
  http::Response response = http::Response::json(std::move(body));
  response.headers.set("Cache-Control", "no-store");
  constexpr std::size_t kSmall = 64 * 1024;
  if (response.body.size() <= kSmall) return response;
  response.holds = budget_.claim(response.body.size());
  if (!response.holds) {
    return fail(Errc::kResourceExhausted,
                "too many large answers are waiting to be read; try again later");
  }
  return response;
}

}  // namespace glovebox::routing
