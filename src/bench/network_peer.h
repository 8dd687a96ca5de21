// The far end of the benchmark's connections: it listens on one address of this host and echoes,
// swallows or pours out bytes, as the first byte of a connection asks. Others than this host itself
// are not served.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/address.h"

namespace glovebox::bench {

// Bound to a free port unless one is given, and listening.
Result<UniqueFd> listen_on(const net::IpAddress& address, std::uint16_t port = 0);
std::uint16_t port_of(int socket);
// Who connected has the address that it connected to: so it is with connections of this host.
bool is_from_here(int connection);

class NetworkPeer {
 public:
  // First bytes. kSink: everything up to the end is read, then its count is answered in 8 bytes,
  // least first. kSource: 8 such bytes follow, and so many come back.
  static constexpr char kEcho = 'e';
  static constexpr char kSink = 's';
  static constexpr char kSource = 'r';

  static Result<std::unique_ptr<NetworkPeer>> listen(const net::IpAddress& address);
  ~NetworkPeer();
  NetworkPeer(const NetworkPeer&) = delete;
  NetworkPeer& operator=(const NetworkPeer&) = delete;

  const net::IpAddress& address() const { return address_; }
  std::uint16_t port() const { return port_; }
  // Connections that echo, now.
  unsigned echoing() const { return echoing_; }

 private:
  // Its bytes go through a thread of its own, which is done with it when `ended`.
  struct Stream {
    UniqueFd socket;
    std::atomic<bool> ended{false};
    std::thread thread;
  };
  NetworkPeer(const net::IpAddress& address, UniqueFd listener, UniqueFd events, UniqueFd wake);
  void serve();
  void accept_all();
  void serve_one(int socket);
  void begin_stream(int socket, char what);
  void forget(int socket);

  net::IpAddress address_;
  std::uint16_t port_ = 0;
  UniqueFd listener_;
  UniqueFd events_;  // epoll
  UniqueFd wake_;    // readable: end
  std::atomic<unsigned> echoing_{0};
  struct Connection {
    UniqueFd socket;
    bool is_echo = false;
  };
  std::map<int, Connection> connections_;  // the thread's alone
  std::list<Stream> streams_;              // likewise
  std::thread thread_;
};

}  // namespace glovebox::bench
