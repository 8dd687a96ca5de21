// For tests: an egress gateway as far as the wire can tell. It speaks the real messages over a real
// socket and relays nothing; it records its requests.
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "wire/gateway/gateway_messages.h"

namespace glovebox::node {

class FakeGateway {
 public:
  explicit FakeGateway(boost::asio::io_context& io) : io_(io) {}
  ~FakeGateway() { hang_up(); }

  // The server's end. A client before it is dropped; the networks stay.
  UniqueFd connect();
  void hang_up();
  // The process ends, and everything it had.
  void die() {
    hang_up();
    networks.clear();
  }
  void decide(const SandboxId& id, wire::NetDecision decision);
  void say_garbage();

  struct Network {
    std::string tenant;
    net::NetPolicy policy;
    bool is_build = false;
    wire::NetTotals totals;
    std::vector<wire::NetDecision> decisions;
  };
  std::map<SandboxId, Network> networks;
  std::optional<wire::NetworkRefused> refuses;  // every opening
  bool refuses_all_but_none = false;            // its ceiling is nothing
  bool is_silent = false;                       // answers nothing

  // What was seen.
  int opened = 0;
  int changed = 0;
  int listed = 0;
  std::vector<SandboxId> closed;
  bool missed_descriptors = false;

 private:
  struct Link;
  void wait();
  void on_message();
  void say(const wire::GatewayReply& reply);

  boost::asio::io_context& io_;
  std::shared_ptr<Link> link_;
};

}  // namespace glovebox::node
