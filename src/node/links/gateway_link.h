// The server's one socket to the egress gateway: requests under way in parallel, matched by number,
// each with a deadline; decisions passed on as they come. Never blocks. When the gateway is lost,
// or does not answer in time, every pending request fails with kUnavailable, and another gateway
// can be attached. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "node/links/packet_link.h"
#include "node/node_options.h"
#include "wire/gateway/gateway_messages.h"

namespace glovebox::node {

class GatewayLink {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_decision(wire::NetworkDecided decided) = 0;
    virtual void on_gateway_gone() = 0;  // after every pending request has failed
  };
  using Finished = std::function<void(Result<>)>;
  using Reported = std::function<void(Result<wire::NetworkReport>)>;
  using Listed = std::function<void(Result<std::vector<SandboxId>>)>;
  // Requests that wait to be sent, or for their answer; beyond this the gateway counts as lost.
  static constexpr std::size_t kMaxQueued = 8192;

  GatewayLink(boost::asio::io_context& io, Listener& listener, std::chrono::milliseconds patience);
  ~GatewayLink();
  GatewayLink(const GatewayLink&) = delete;
  GatewayLink& operator=(const GatewayLink&) = delete;

  void attach(UniqueFd socket);
  void detach(const std::string& why);
  bool up() const { return link_ != nullptr; }

  // The `seq` of each is chosen here. `done` is called later, never from in here, and once;
  // kUnavailable: there is no gateway (any more).
  void open(wire::OpenNetwork request, std::vector<UniqueFd> sockets, Finished done);
  void change(wire::ChangePolicy request, Finished done);
  void read(wire::ReadNetwork request, Reported done);
  void list(Listed done);

  std::uint64_t losses() const { return losses_; }

 private:
  // The callback of a pending request; one of these is set.
  struct Asked {
    Finished finished = {};
    Reported reported = {};
    Listed listed = {};
    Clock::time_point until{};
    void refuse(const Error& error) const;
  };
  // Zero: there is no gateway, and the callback will be told so.
  std::uint32_t ask(Asked asked);
  Result<Asked> answered(std::uint32_t seq);
  void send(const wire::GatewayRequest& request, std::vector<UniqueFd> fds = {});
  void refuse_later(std::uint32_t seq);
  void watch_patience();
  Result<> on_message(const Received& received);
  Result<> handle(wire::GatewayDone& done);
  Result<> handle(wire::NetworkRefused& refused);
  Result<> handle(wire::NetworkReport& report);
  Result<> handle(wire::NetworksListed& listed);
  Result<> handle(wire::NetworkDecided& decided);

  boost::asio::io_context& io_;
  Listener& listener_;
  const std::chrono::milliseconds patience_;
  std::shared_ptr<PacketLink> link_;
  boost::asio::steady_timer patience_timer_;
  std::uint32_t next_seq_ = 1;
  std::map<std::uint32_t, Asked> waiting_;
  std::uint64_t losses_ = 0;
};

}  // namespace glovebox::node
