// For tests: a network namespace that stands for this host, whose 198.18.0.0/15 is an internet of
// its own, and sandboxes with networks as the launcher makes them. No packet leaves it. All in a
// child process, which a test enters by in_box().
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "net/address.h"
#include "wire/gateway/gateway_messages.h"

namespace glovebox::gateway::testing {

// Runs `body` there. Failures in it are the test's; skips where there are no namespaces.
void in_box(const std::function<void()>& body);

net::IpAddress ip(const std::string& text);

// A sandbox: just its network, and sockets inside it.
class Guest {
 public:
  Guest();
  ~Guest() { end(); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  // Copies, as the launcher lends them: for OpenNetwork.
  std::vector<UniqueFd> lend() const;
  // Connecting to there, non-blocking. At most 90 of them.
  UniqueFd connect(const std::string& address, std::uint16_t port);
  // A question for a name, and its answer's addresses; empty if there are none.
  std::vector<net::IpAddress> resolve(boost::asio::io_context& io, const std::string& name);
  void end();

 private:
  pid_t child_ = 0;
  UniqueFd channel_;
  UniqueFd connections_;
  UniqueFd names_;
  UniqueFd process_;
  std::vector<UniqueFd> streams_;
  UniqueFd datagrams_;
};

// Listens at an address of the box. Takes connections when asked to.
class Listener {
 public:
  Listener(const std::string& address, std::uint16_t port);
  // Empty if there is none.
  UniqueFd accept();

 private:
  UniqueFd socket_;
};

// Answers for some names, A only; NXDOMAIN for the rest.
class NameServer {
 public:
  static constexpr const char* kAddress = "198.18.0.53";
  explicit NameServer(boost::asio::io_context& io);

  std::map<std::string, std::string> addresses;
  std::vector<std::string> asked;

 private:
  void wait();
  void answer();
  boost::asio::posix::stream_descriptor socket_;
};

// A TLS client's first words, with this server name.
std::string client_hello(const std::string& name);

}  // namespace glovebox::gateway::testing
