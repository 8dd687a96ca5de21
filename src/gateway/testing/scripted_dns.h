// A resolver for tests: a script says, question by question, which datagrams come back. It lives in
// the test's own io_context, on a port of the kernel's choice, over UDP and TCP.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "gateway/dns/resolv_conf.h"
#include "net/dns_message.h"

namespace glovebox::gateway {

class ScriptedDns {
 public:
  using Bytes = std::vector<std::byte>;
  struct Asked {
    net::DnsQuery query;
    bool over_tcp = false;
    asio::ip::udp::endpoint from;  // over UDP
  };
  using Script = std::function<std::vector<Bytes>(const Asked&)>;

  ScriptedDns(asio::io_context& io, Script script);
  ~ScriptedDns();

  DnsServer server() const;
  // Questions so far.
  const std::vector<Asked>& asked() const;
  // From the port that was asked, now.
  void send(const asio::ip::udp::endpoint& to, const Bytes& bytes);
  // From a port that was not asked.
  void send_from_elsewhere(const asio::ip::udp::endpoint& to, const Bytes& bytes);

 private:
  struct State;
  static asio::awaitable<void> serve_datagrams(std::shared_ptr<State> state);
  static asio::awaitable<void> serve_streams(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// "192.0.2.1" and the like.
net::IpAddress ip(std::string_view text);
net::HostName host(std::string_view name);

inline std::vector<ScriptedDns::Bytes> one(ScriptedDns::Bytes bytes) {
  std::vector<ScriptedDns::Bytes> replies;
  replies.push_back(std::move(bytes));
  return replies;
}
// The answer that was asked for.
std::vector<std::byte> good(const ScriptedDns::Asked& asked, std::vector<net::IpAddress> addresses,
                            std::uint32_t ttl_s = 300);
std::vector<std::byte> with_code(const ScriptedDns::Asked& asked, net::DnsCode code);
// Says that it is cut, and nothing else.
std::vector<std::byte> cut(const ScriptedDns::Asked& asked);
// The name is another one's, which is at `address`.
std::vector<std::byte> alias(const ScriptedDns::Asked& asked, std::string_view target,
                             net::IpAddress address);

// Runs the context until the task has ended.
template <class T>
T finish(asio::io_context& io, asio::awaitable<T> task) {
  std::optional<T> result;
  asio::co_spawn(io, std::move(task),
                 [&](std::exception_ptr, T value) { result.emplace(std::move(value)); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  io.restart();
  while (!result && std::chrono::steady_clock::now() < end) io.run_one_until(end);
  EXPECT_TRUE(result.has_value()) << "the task did not end";
  return std::move(result.value());
}

}  // namespace glovebox::gateway
