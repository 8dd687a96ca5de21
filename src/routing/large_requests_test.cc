#include "routing/large_requests.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
          parsed = co_await parse_body(worker_, request_, parse_here);
        },
        asio::detached);
    io_.run();
    return std::move(*parsed);
  }

  asio::io_context io_;
  Worker worker_;
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

// Thousands of bodies of one owner delay another's by one.
TEST(LargeBodies, AreParsedInTheirOwnersTurns) {
  asio::io_context io;
  Worker worker;
  std::promise<void> begun, released;
  std::vector<std::string> order;  // only on the worker's thread, and after its end
  const auto send = [&](std::string owner, std::function<void()> act) {
    asio::co_spawn(
        io,
        [&worker, owner, act]() -> asio::awaitable<void> {
          http::Request request;
          request.owner = owner;
          request.body = std::string(kLargestInlineBody + 1, 'x');
          auto parse = [act](std::string_view) {
            act();
            return 0;
          };
          co_await parse_body(worker, request, parse);
        },
        asio::detached);
  };
  send("holder", [&] {
    begun.set_value();
    released.get_future().wait();
  });
  io.poll();
  begun.get_future().wait();
  for (int i = 0; i < 3; ++i) send("hostile", [&] { order.push_back("hostile"); });
  send("victim", [&] { order.push_back("victim"); });
  io.poll();
  released.set_value();
  io.run();
  EXPECT_EQ(order, (std::vector<std::string>{"hostile", "victim", "hostile", "hostile"}));
}

}  // namespace
}  // namespace glovebox::routing
