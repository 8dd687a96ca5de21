// Sends one query to the host's resolvers: over UDP from a new connected socket (the kernel picks a
// random port and accepts only that server's answers) with a random id, and over TCP when the
// answer was truncated. Answers to other queries are ignored. Knows nothing of sandboxes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/task.h"
#include "gateway/dns/resolv_conf.h"
#include "net/dns_message.h"

namespace glovebox::gateway {

struct UpstreamOptions {
  std::chrono::milliseconds try_time{2000};    // for one try at one server
  std::chrono::milliseconds whole_time{8000};  // for all of them
  int tries = 2;                               // of the whole list of servers
  std::size_t max_open = 1024;                 // queries under way; more are kResourceExhausted
  int max_mismatched = 64;               // datagrams on one socket that do not answer its query
  std::chrono::seconds silent_life{30};  // how long a server that timed out is asked last
};

class DnsUpstream {
 public:
  DnsUpstream(asio::io_context& io, UpstreamOptions options) : io_(io), options_(options) {}
  DnsUpstream(const DnsUpstream&) = delete;
  DnsUpstream& operator=(const DnsUpstream&) = delete;

  // NOERROR or NXDOMAIN of the first server that returns one of them; a server that fails, refuses
  // or times out is skipped. kUnavailable or kTimeout when none is left. Outlives the task.
  Task<net::DnsAnswer> ask(std::vector<DnsServer> servers, net::HostName name, net::DnsType type);

  std::size_t open() const { return open_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Question {
    net::HostName name;
    net::DnsType type;
    Time end;  // of this try
  };
  // Servers that timed out recently come last.
  void sort(std::vector<DnsServer>& servers, Time now);
  void remember(const DnsServer& server, bool was_silent, Time now);
  Task<net::DnsAnswer> ask_one(DnsServer server, Question question);
  Task<net::DnsAnswer> ask_datagram(DnsServer server, Question question);
  Task<net::DnsAnswer> ask_stream(DnsServer server, Question question);

  asio::io_context& io_;
  UpstreamOptions options_;
  std::size_t open_ = 0;
  std::vector<std::pair<DnsServer, Time>> silent_;  // until when; at most kMaxDnsServers
};

}  // namespace glovebox::gateway
