#include "http/testing/test_server.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <charconv>

#include "http/socket_address.h"

namespace glovebox::http::testing {

namespace {

Listener listen_on_loopback() {
  Result<Listener> listener = open_listener("127.0.0.1:0");
  if (!listener) throw std::runtime_error(listener.error().message());
  return std::move(*listener);
}

int milliseconds_of_patience() {
  return static_cast<int>(std::chrono::milliseconds(kPatience).count());
}

}  // namespace

TestServer::TestServer(Router router, ServerOptions options, std::shared_ptr<const TlsContext> tls)
    : listener_(listen_on_loopback()), is_tls_(tls != nullptr) {
  server_ = std::make_unique<Server>(context_, std::move(router), std::move(options));
  const Result<> served = server_->serve(std::move(listener_.fd), std::move(tls));
  EXPECT_TRUE(served.has_value());
  thread_ = std::thread([this] {
    const auto work = asio::make_work_guard(context_);
    context_.run();
  });
}

TestServer::~TestServer() {
  on_thread([this](Server&) { server_.reset(); });
  context_.stop();
  thread_.join();
}

Url TestServer::url() const {
  Url url;
  url.tls = is_tls_;
  url.host = listener_.host;
  url.port = listener_.port;
  return url;
}

Client TestServer::client(ClientOptions options) const {
  options.io_time = kPatience;
  return Client(url(), std::move(options));
}

void TestServer::on_thread(std::function<void(Server&)> action) {
  std::promise<void> done;
  asio::post(context_, [&] {
    action(*server_);
    done.set_value();
  });
  done.get_future().get();
}

ServerFigures TestServer::figures() {
  ServerFigures figures;
  on_thread([&](Server& server) { figures = server.figures(); });
  return figures;
}

bool TestServer::eventually(const std::function<bool(const ServerFigures&)>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (holds(figures())) return true;
    std::this_thread::yield();
  }
  return false;
}

std::future<bool> TestServer::drained(std::chrono::milliseconds time) {
  auto promise = std::make_shared<std::promise<bool>>();
  asio::post(context_, [this, promise, time] {
    asio::co_spawn(context_, server_->drained(std::chrono::steady_clock::now() + time),
                   [promise](std::exception_ptr, bool is_clean) { promise->set_value(is_clean); });
  });
  return promise->get_future();
}

RawClient::RawClient(const TestServer& server, int receive_buffer)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0) {
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  const auto address = SocketAddress::make("127.0.0.1", server.listener().port);
  EXPECT_TRUE(address.has_value());
  EXPECT_EQ(::connect(fd_.get(), address->get(), address->size()), 0);
}

RawClient::RawClient(const std::string& from, const std::string& to, std::uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const auto ours = SocketAddress::make(from, 0);
  const auto theirs = SocketAddress::make(to, port);
  EXPECT_EQ(::bind(fd_.get(), ours->get(), ours->size()), 0);
  EXPECT_EQ(::connect(fd_.get(), theirs->get(), theirs->size()), 0);
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool RawClient::send_flood(std::size_t count) {
  const std::string block(64 << 10, 'x');
  while (count > 0) {
    const std::size_t size = std::min(count, block.size());
    const ssize_t sent = ::send(fd_.get(), block.data(), size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool RawClient::receive() {
  pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, milliseconds_of_patience()) <= 0) {
    ADD_FAILURE() << "nothing came; so far: " << buffer_.substr(0, 1000);
    return false;
  }
  char bytes[16 << 10];
  const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

std::string RawClient::read_until(std::string_view mark) {
  for (;;) {
    const std::size_t at = buffer_.find(mark);
    if (at != std::string::npos) {
      std::string text = buffer_.substr(0, at + mark.size());
      buffer_.erase(0, text.size());
      return text;
    }
    if (!receive()) return {};
  }
}

std::string RawClient::read_answer() {
  std::string head = read_until("\r\n\r\n");
  const std::string_view field = "Content-Length: ";
  const std::size_t at = head.find(field);
  std::size_t length = 0;
  if (at != std::string::npos) {
    std::from_chars(head.data() + at + field.size(), head.data() + head.size(), length);
  }
  while (buffer_.size() < length) {
    if (!receive()) break;
  }
  head += buffer_.substr(0, length);
  buffer_.erase(0, length);
  return head;
}

std::string RawClient::read_to_end() {
  while (receive()) {
  }
  return std::exchange(buffer_, {});
}

std::size_t RawClient::read_some(std::size_t count) {
  while (buffer_.size() < count) {
    if (!receive()) break;
  }
  return std::exchange(buffer_, {}).size();
}

bool RawClient::is_ended() {
  pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, milliseconds_of_patience()) <= 0) return false;
  char byte = 0;
  return ::recv(fd_.get(), &byte, 1, 0) <= 0;
}

void RawClient::end_writing() { ::shutdown(fd_.get(), SHUT_WR); }

ServerOptions quick_options() {
  ServerOptions options;
  options.limits.sweep_interval = std::chrono::milliseconds(10);
  options.limits.linger_time = std::chrono::milliseconds(300);
  return options;
}

Route route(Method method, std::string pattern, std::function<Response(Request&)> answer) {
  Route made;
  made.method = method;
  made.pattern = std::move(pattern);
  made.handler = [answer = std::move(answer)](Request& request, ResponseWriter&) -> Task<Response> {
    co_return answer(request);
  };
  return made;
}

}  // namespace glovebox::http::testing
