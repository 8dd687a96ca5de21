// For the tests of this folder: a real server on a free port of loopback, in a thread of its own,
// and a raw socket to speak to it byte by byte. Every wait has a deadline.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "http/client/client.h"
#include "http/server/server.h"

namespace glovebox::http::testing {

inline constexpr std::chrono::seconds kPatience{20};

class TestServer {
 public:
  explicit TestServer(Router router, ServerOptions options = {},
                      std::shared_ptr<const TlsContext> tls = nullptr);
  ~TestServer();

  const Listener& listener() const { return listener_; }
  Url url() const;
  Client client(ClientOptions options = {}) const;

  // Runs on the server's thread and waits for it.
  void on_thread(std::function<void(Server&)> action);
  ServerFigures figures();
  // Looks again and again until it holds; false when kPatience is over.
  bool eventually(const std::function<bool(const ServerFigures&)>& holds);
  std::future<bool> drained(std::chrono::milliseconds time);

  asio::io_context& context() { return context_; }

 private:
  Listener listener_;
  bool is_tls_;
  asio::io_context context_{1};
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

// A client that sends exactly the given bytes.
class RawClient {
 public:
  explicit RawClient(const TestServer& server, int receive_buffer = 0);
  // From and to any address of loopback: "127.0.0.2".
  RawClient(const std::string& from, const std::string& to, std::uint16_t port);
  void send(std::string_view bytes);
  // Sends what the kernel takes, up to `count` bytes; false when the other side has gone.
  bool send_flood(std::size_t count);
  // Everything up to and with `mark`; what follows stays. Empty: it did not come.
  std::string read_until(std::string_view mark);
  // One answer with a Content-Length: header and body.
  std::string read_answer();
  std::string read_to_end();
  std::size_t read_some(std::size_t count);
  bool is_ended();  // waits for the end of the stream
  void end_writing();
  void close() { fd_.reset(); }

 private:
  bool receive();
  UniqueFd fd_;
  std::string buffer_;
};

ServerOptions quick_options();  // limits in the range of a test's patience
Route route(Method method, std::string pattern, std::function<Response(Request&)> answer);

}  // namespace glovebox::http::testing
