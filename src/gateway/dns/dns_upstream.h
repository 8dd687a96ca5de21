// Asks the host's resolvers one question: over UDP from a fresh connected socket (the kernel picks
// its port at random and takes answers from that server alone) with a random id, over TCP when the
// answer was cut. An answer to another question is as if it had not come. Knows of no sandbox.
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
  std::size_t max_open = 1024;                 // questions under way; more are kResourceExhausted
  int max_strange = 64;  // datagrams on one socket that are no answer to its question
  std::chrono::seconds silent_life{30};  // a server that was silent is asked last for so long
};

class DnsUpstream {
 public:
  DnsUpstream(asio::io_context& io, UpstreamOptions options) : io_(io), options_(options) {}
  DnsUpstream(const DnsUpstream&) = delete;
  DnsUpstream& operator=(const DnsUpstream&) = delete;

  // NOERROR or NXDOMAIN of the first server that says one of them; a server that fails, refuses or
  // is silent is passed over. kUnavailable or kTimeout when none does. This outlives the task.
  Task<net::DnsAnswer> ask(std::vector<DnsServer> servers, net::HostName name, net::DnsType type);

  std::size_t open() const { return open_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Question {
    net::HostName name;
    net::DnsType type;
    Time end;  // of this try
  };
  // Those that were silent lately come last.
  void sort(std::vector<DnsServer>& servers, Time now);
  void remember(const DnsServer& server, bool was_silent, Time now);
  Task<net::DnsAnswer> ask_one(DnsServer server, Question question);
  Task<net::DnsAnswer> ask_datagram(DnsServer server, Question question);
  Task<net::DnsAnswer> ask_stream(DnsServer server, Question question);

  asio::io_context& io_;
  UpstreamOptions options_;
  std::size_t open_ = 0;
  std::vector<std::pair<DnsServer, Time>> silent_;  // and until when; at most kMaxDnsServers
};

}  // namespace glovebox::gateway
