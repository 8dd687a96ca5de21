#include "routing/large_requests.h"

#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <thread>

namespace glovebox::routing {
namespace {

struct Parsed {
  std::size_t size = 0;
  std::thread::id thread{};
};

Result<Parsed> parse_here(std::string_view text) {
  if (text.starts_with("bad")) return fail(Errc::kInvalidArgument, "bad");
  return Parsed{.size = text.size(), .thread = std::this_thread::get_id()};
}

class RequestBody : public ::testing::Test {
 protected:
  Result<Parsed> parse() {
    std::optional<Result<Parsed>> parsed;
    asio::co_spawn(
        io_,
        [&]() -> asio::awaitable<void> {
          parsed = co_await parse_body<Parsed>(worker_, request_, parse_here);
        },
        asio::detached);
    io_.run();
    return std::move(*parsed);
  }

  asio::io_context io_;
  asio::thread_pool worker_{1};
  http::Request request_;
};

TEST_F(RequestBody, IsParsedOnTheServersThreadIfItIsSmall) {
  request_.body = std::string(kLargestInlineBody, 'x');
  const Result<Parsed> parsed = parse();
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->size, kLargestInlineBody);
  EXPECT_EQ(parsed->thread, std::this_thread::get_id());
}

TEST_F(RequestBody, IsParsedOnTheWorkerIfItIsLarge) {
  request_.body = std::string(kLargestInlineBody + 1, 'x');
  const Result<Parsed> parsed = parse();
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->size, kLargestInlineBody + 1);
  EXPECT_NE(parsed->thread, std::this_thread::get_id());
  EXPECT_EQ(request_.body.size(), kLargestInlineBody + 1);
}

TEST_F(RequestBody, OfTheWrongFormIsAnErrorFromTheWorkerToo) {
  request_.body = "bad" + std::string(kLargestInlineBody, 'x');
  const Result<Parsed> parsed = parse();
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().message(), "bad");
}

}  // namespace
}  // namespace glovebox::routing
