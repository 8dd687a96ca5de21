#include "routing/large_responses.h"

#include <memory>
#include <utility>

#include "wire/runs/run_answer.h"

namespace glovebox::routing {

asio::awaitable<std::string> LargeResponses::with_output(std::string owner, std::string exit_json,
                                                         Outcome outcome) {
  constexpr std::size_t kSmall = 256 * 1024;
  const std::size_t size = outcome.out.size() + outcome.err.size();
  if (size <= kSmall) co_return wire::run_answer_json(exit_json, outcome);
  auto shared = std::make_shared<Outcome>(std::move(outcome));
  auto writing = [exit_json = std::move(exit_json), shared = std::move(shared)] {
    return wire::run_answer_json(exit_json, *shared);
  };
  co_return co_await worker_.run(std::move(owner), std::move(writing));
}

Result<http::Response> LargeResponses::respond(const std::string& owner, std::string body) {
  http::Response response = http::Response::json(std::move(body));
  response.headers.set("Cache-Control", "no-store");
  constexpr std::size_t kSmall = 64 * 1024;
  if (response.body.size() <= kSmall) return response;
  response.holds = budget_.claim(owner, response.body.size());
  if (!response.holds) {
    return fail(Errc::kResourceExhausted,
                "too many large answers are waiting to be read; try again later");
  }
  return response;
}

}  // namespace glovebox::routing
