// The graceful stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>

#include "http/server/server.h"
#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using ::testing::HasSubstr;
using testing::kPatience;
using testing::quick_options;
using testing::RawClient;
using testing::route;
using testing::TestServer;

struct Gate {
  std::promise<void> started;
  asio::steady_timer* timer = nullptr;  // the running coroutine's

  Task<Response> operator()() {
    asio::steady_timer patience(co_await asio::this_coro::executor);
    patience.expires_after(kPatience);
    timer = &patience;
    started.set_value();
    co_await patience.async_wait(kAwaitTuple);
    co_return Response::text("finished");
  }
};

Router table(Gate& gate) {
  Router router(
      {route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); })});
  router.add({.method = Method::kGet,
              .pattern = "/gate",
              .handler = [&gate](Request&, ResponseWriter&) { return gate(); }});
  return router;
}

constexpr std::string_view kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kGate = "GET /gate HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(ServerStop, IdleConnectionsEndAndRunningRequestsFinish) {
  Gate gate;
  TestServer server(table(gate), quick_options());
  RawClient idle(server);
  idle.send(kHello);
  idle.read_answer();
  RawClient running(server);
  running.send(kGate);
  ASSERT_EQ(gate.started.get_future().wait_for(kPatience), std::future_status::ready);

  server.on_thread([](Server& stopped) { stopped.stop_accepting(); });
  std::future<bool> drained = server.drained(kPatience);
  EXPECT_TRUE(idle.is_ended());
  const Result<ClientResponse> late = server.client().send({.target = "/hello"});
  EXPECT_FALSE(late.has_value());

  server.on_thread([&](Server&) { gate.timer->cancel(); });
  const std::string answer = running.read_to_end();
  EXPECT_THAT(answer, HasSubstr("finished"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(drained.get());
}

TEST(ServerStop, TheDeadlineCutsWhatIsLeft) {
  Gate gate;
  TestServer server(table(gate), quick_options());
  RawClient running(server);
  running.send(kGate);
  ASSERT_EQ(gate.started.get_future().wait_for(kPatience), std::future_status::ready);
  server.on_thread([](Server& stopped) { stopped.stop_accepting(); });
  EXPECT_FALSE(server.drained(std::chrono::milliseconds(50)).get());
  EXPECT_TRUE(running.is_ended());
  server.on_thread([&](Server&) { gate.timer->cancel(); });
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST(ServerStop, AServerMayEndWithRequestsUnderWay) {
  Gate gate;
  auto server = std::make_unique<TestServer>(table(gate), quick_options());
  RawClient running(*server);
  running.send(kGate);
  ASSERT_EQ(gate.started.get_future().wait_for(kPatience), std::future_status::ready);
  server.reset();
  EXPECT_TRUE(running.is_ended());
}

}  // namespace
}  // namespace glovebox::http
