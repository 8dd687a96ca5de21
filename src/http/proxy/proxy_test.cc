// Requests forwarded to an untrusted server: the test plays that server, at the other
// end of a socket pair.
#include "http/proxy/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "http/proxy/upstream_answer.h"
#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using ::testing::HasSubstr;
using testing::kPatience;
using ::testing::Not;
using testing::quick_options;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;

// The guest: reads and writes its end, byte by byte, with patience.
class Guest {
 public:
  explicit Guest(UniqueFd fd) : fd_(std::move(fd)) {}
  std::string read_until(std::string_view mark) {
    for (;;) {
      const std::size_t at = buffer_.find(mark);
      if (at != std::string::npos) {
        const std::string text = buffer_.substr(0, at + mark.size());
        buffer_.erase(0, text.size());
        return text;
      }
      if (!receive()) return {};
    }
  }
  std::string read_to_end() {
    while (receive()) {
    }
    return std::exchange(buffer_, {});
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void close() { fd_.reset(); }

 private:
  bool receive() {
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
    if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0) return false;
    char bytes[65536];
    const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got > 0) buffer_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }
  UniqueFd fd_;
  std::string buffer_;
};

class Proxy : public ::testing::Test {
 protected:
  Proxy() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    given_ = UniqueFd(ends[0]);
    guest_ = std::make_unique<Guest>(UniqueFd(ends[1]));
    Route route;
    route.pattern = "(any)";
    route.streams_body = true;
    route.cors = Cors::kForwarded;
    route.handler = [this](Request& request, ResponseWriter& writer) {
      return handle(request, writer);
    };
    route.upgrade = [this](Request& request, RawStream& stream) {
      return handle_upgrade(request, stream);
    };
    route_ = std::move(route);
    ServerOptions options = quick_options();
    options.route_first = [this](Request&) { return &route_; };
    server_ = std::make_unique<TestServer>(Router(), std::move(options));
    client_ = std::make_unique<RawClient>(*server_);
  }

  ProxyPlan plan_for(const Request& request) {
    ProxyPlan plan;
    plan.target = request.target;
    plan.headers = request.headers;
    remove_hop_by_hop(plan.headers);
    plan.headers.remove("Expect");
    plan.on_answer = [](int, Headers& headers) { headers.add("X-Seen", "yes"); };
    plan.answer_time = answer_time_;
    return plan;
  }
  Task<Response> handle(Request& request, ResponseWriter& writer) {
    ProxyPlan plan = plan_for(request);
    Forwarded done = co_await forward(request, writer, std::move(given_), std::move(plan));
    how_ = static_cast<int>(done.how);
    if (done.how == Forwarded::How::kAnswered) co_return Response::streamed();
    if (writer.begun()) co_return fail(std::move(done.error));
    co_return Response::text("how " + std::to_string(how_) + ": " + done.error.message(), 502);
  }
  asio::awaitable<void> handle_upgrade(Request& request, RawStream& stream) {
    ProxyPlan plan = plan_for(request);
    Forwarded done = co_await forward_upgrade(request, stream, std::move(given_), std::move(plan));
    how_ = static_cast<int>(done.how);
  }
  std::string how(Forwarded::How wanted) {
    return "how " + std::to_string(static_cast<int>(wanted));
  }

  UniqueFd given_;
  std::unique_ptr<Guest> guest_;
  Route route_;
  std::chrono::milliseconds answer_time_{kPatience};
  std::atomic<int> how_{-1};
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<RawClient> client_;
};

TEST_F(Proxy, ForwardsARequestAndItsAnswer) {
  client_->send(
      "PROPFIND /a%20b?c=d HTTP/1.1\r\nHost: localhost\r\nX-Mine: 1\r\nX-Hop: 2\r\n"
      "Connection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\nTE: trailers\r\n\r\n");
  const std::string head = guest_->read_until("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("PROPFIND /a%20b?c=d HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("X-Mine: 1\r\n"));
  EXPECT_THAT(head, HasSubstr("Connection: close\r\n"));
  for (const char* word : {"X-Hop", "Keep-Alive", "keep-alive", "TE:", "Content-Length"}) {
    EXPECT_THAT(head, Not(HasSubstr(word)));
  }
  guest_->send(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 207 Multi\r\nContent-Type: a/b\r\n"
      "Content-Length: 5\r\nKeep-Alive: 1\r\nX-Hop: 1\r\nConnection: x-hop\r\n\r\nhelloGARBAGE");
  const std::string answer = client_->read_answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 207 "));
  EXPECT_THAT(answer, HasSubstr("Content-Type: a/b\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Seen: yes\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("X-Hop")));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\nhello"));
  EXPECT_EQ(guest_->read_to_end(), "");  // closed behind the answer
}

TEST_F(Proxy, StreamsBodiesBothWaysAtOnce) {
  client_->send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(guest_->read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  client_->send("5;ext\r\nhello\r\n");
  EXPECT_EQ(guest_->read_until("hello\r\n"), "5\r\nhello\r\n");
  guest_->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  EXPECT_THAT(client_->read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(client_->read_until("one\r\n"), "3\r\none\r\n");
  client_->send("3\r\nend\r\n0\r\nTrailer: x\r\n\r\n");
  EXPECT_EQ(guest_->read_until("0\r\n\r\n"), "3\r\nend\r\n0\r\n\r\n");
  guest_->send("3\r\ntwo\r\n0\r\nTrailer: y\r\n\r\n");
  EXPECT_EQ(client_->read_until("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
}

TEST_F(Proxy, AnOldServersAnswerEndsWithItsConnection) {
  client_->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  guest_->read_until("\r\n\r\n");
  guest_->send("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold");
  EXPECT_THAT(client_->read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  guest_->send("er");
  guest_->close();
  const std::string body = client_->read_until("0\r\n\r\n");
  EXPECT_TRUE(body == "3\r\nold\r\n2\r\ner\r\n0\r\n\r\n" || body == "5\r\nolder\r\n0\r\n\r\n")
      << body;
}

TEST_F(Proxy, HeadHasALengthAndNoBody) {
  client_->send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(guest_->read_until("\r\n\r\n"), StartsWith("HEAD / "));
  guest_->send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_THAT(client_->read_until("\r\n\r\n"), HasSubstr("Content-Length: 1000\r\n"));
  EXPECT_TRUE(server_->eventually([](const ServerFigures& f) { return f.idle_connections == 1; }));
}

TEST_F(Proxy, AnAnswerThatBreaksOffIsNotMadeWhole) {
  client_->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  guest_->read_until("\r\n\r\n");
  guest_->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
  EXPECT_EQ(client_->read_until("hel\r\n").substr(0, 5), "HTTP/");
  guest_->close();
  EXPECT_EQ(client_->read_to_end(), "");
}

TEST_F(Proxy, AnEarlyAnswerEndsTheUpload) {
  client_->send("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc");
  guest_->read_until("abc");
  guest_->send("HTTP/1.1 413 No\r\nContent-Length: 4\r\n\r\nmuch");
  const std::string answer = client_->read_answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(guest_->read_to_end(), "");
  EXPECT_TRUE(client_->is_ended());
}

TEST_F(Proxy, AClientThatGoesTakesTheConnectionWithIt) {
  client_->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  guest_->read_until("\r\n\r\n");
  client_->close();
  EXPECT_EQ(guest_->read_to_end(), "");
  EXPECT_TRUE(server_->eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST_F(Proxy, SilenceIsToldApart) {
  answer_time_ = std::chrono::milliseconds(50);
  client_->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client_->read_answer(), HasSubstr(how(Forwarded::How::kSilent)));
}

TEST_F(Proxy, WrongChunksOfTheClientAreItsOwnFault) {
  client_->send("PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n");
  EXPECT_THAT(client_->read_answer(), HasSubstr(how(Forwarded::How::kClient)));
}

class Garbage : public Proxy, public ::testing::WithParamInterface<std::string> {};

TEST_P(Garbage, IsNoAnswer) {
  client_->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  guest_->read_until("\r\n\r\n");
  guest_->send(GetParam());
  guest_->close();
  EXPECT_THAT(client_->read_answer(), HasSubstr(how(Forwarded::How::kGarbage)));
}

INSTANTIATE_TEST_SUITE_P(
    All, Garbage,
    ::testing::Values(
        "", "hello\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n", "HTTP/1.1 777 High\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nBad Name: 1\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'x') + "\r\n\r\n", [] {
          std::string many;
          for (int i = 0; i < 20; ++i) many += "HTTP/1.1 103 Hints\r\n\r\n";
          return many + "HTTP/1.1 200 OK\r\n\r\n";
        }()));

constexpr std::string_view kUpgrade =
    "GET /chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

TEST_F(Proxy, RelaysBytesAfterAnUpgrade) {
  client_->send(std::string(kUpgrade) + "early");
  const std::string head = guest_->read_until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Upgrade: websocket\r\n"));
  EXPECT_THAT(head, HasSubstr("Connection: Upgrade\r\n"));
  guest_->send(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: x\r\n\r\nfirst");
  const std::string answer = client_->read_until("\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(answer, HasSubstr("Sec-WebSocket-Accept: x\r\n"));
  EXPECT_THAT(answer, HasSubstr("Upgrade: websocket\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: Upgrade\r\n"));
  EXPECT_EQ(client_->read_until("first"), "first");
  EXPECT_EQ(guest_->read_until("early"), "early");
  client_->send("up");
  EXPECT_EQ(guest_->read_until("up"), "up");
  guest_->send("last words");
  guest_->close();
  EXPECT_EQ(client_->read_to_end(), "last words");
  EXPECT_EQ(how_, static_cast<int>(Forwarded::How::kAnswered));
}

TEST_F(Proxy, AClientsEndReachesTheOtherSideOfAnUpgrade) {
  client_->send(kUpgrade);
  guest_->read_until("\r\n\r\n");
  guest_->send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n\r\n");
  client_->read_until("\r\n\r\n");
  client_->send("bye");
  client_->end_writing();
  EXPECT_EQ(guest_->read_to_end(), "bye");
  guest_->send("bye too");
  guest_->close();
  EXPECT_EQ(client_->read_to_end(), "bye too");
}

TEST_F(Proxy, AnUpgradeThatIsRefusedIsAnsweredSo) {
  client_->send(kUpgrade);
  guest_->read_until("\r\n\r\n");
  guest_->send("HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n");
  const std::string answer = client_->read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\nno"));
}

TEST_F(Proxy, AnUpgradeToSomethingElseIsGarbage) {
  client_->send(kUpgrade);
  guest_->read_until("\r\n\r\n");
  guest_->send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\nGET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client_->read_to_end(), "");
  EXPECT_EQ(how_, static_cast<int>(Forwarded::How::kGarbage));
}

TEST_F(Proxy, ALargeBodyIsCarriedWhole) {
  const std::string block(1 << 20, 'x');
  client_->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  guest_->read_until("\r\n\r\n");
  std::thread sender([&] {
    guest_->send("HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n");
    for (int i = 0; i < 32; ++i) guest_->send(block);
  });
  const std::string answer = client_->read_answer();
  sender.join();
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 33554432u);
}

}  // namespace
}  // namespace glovebox::http
