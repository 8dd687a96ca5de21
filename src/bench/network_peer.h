// The remote end of the benchmark's connections. Listens on one address of this host and echoes,
// discards or sends bytes, depending on the first byte of a connection. Refuses connections from
// other hosts.
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

// A listening socket; on a free port if none is given.
Result<UniqueFd> listen_on(const net::IpAddress& address, std::uint16_t port = 0);
std::uint16_t port_of(int socket);
// Whether a connection comes from this host: then both ends have the same address.
bool is_from_here(int connection);

class NetworkPeer {
 public:
  // First bytes of a connection. kSink: reads to the end and responds with the count, 8 bytes
  // little-endian. kSource: a count in that form follows, and that many bytes are sent.
  static constexpr char kEcho = 'e';
  static constexpr char kSink = 's';
  static constexpr char kSource = 'r';

  static Result<std::unique_ptr<NetworkPeer>> listen(const net::IpAddress& address);
  ~NetworkPeer();
  NetworkPeer(const NetworkPeer&) = delete;
  NetworkPeer& operator=(const NetworkPeer&) = delete;

  const net::IpAddress& address() const { return address_; }
  std::uint16_t port() const { return port_; }
  // The current number of echo connections.
  unsigned echoing() const { return echoing_; }

 private:
  // Handled by its own thread, which sets `ended` when it is done.
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
  UniqueFd wake_;    // readable: the thread must end
  std::atomic<unsigned> echoing_{0};
  struct Connection {
    UniqueFd socket;
    bool is_echo = false;
  };
  std::map<int, Connection> connections_;  // only used by the thread
  std::list<Stream> streams_;              // likewise
  std::thread thread_;
};

}  // namespace glovebox::bench
