#include "node/links/gateway_link.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"

namespace glovebox::node {
namespace {

Error gateway_gone() { return Error(Errc::kUnavailable, "the network gateway is gone"); }

}  // namespace

GatewayLink::GatewayLink(boost::asio::io_context& io, Listener& listener,
                         std::chrono::milliseconds patience)
    : io_(io), listener_(listener), patience_(patience), patience_timer_(io) {}

GatewayLink::~GatewayLink() {
  if (link_) link_->close();
}

void GatewayLink::attach(UniqueFd socket) {
  if (link_) detach("another gateway was attached");
  const PacketLink::Bounds bounds{wire::kMaxGatewayMessage, 0, kMaxQueued};
  link_ = PacketLink::start(
      io_, std::move(socket), bounds,
      [this](const Received& received) { return on_message(received); },
      [this](const std::string& why) { detach(why); });
  log::info("gateway attached");
  watch_patience();
}

void GatewayLink::detach(const std::string& why) {
  if (!link_) return;
  log::warn("gateway gone", {{"why", why}});
  ++losses_;
  link_->close();
  link_.reset();
  patience_timer_.cancel();
  // Each of these may call back.
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& [seq, asked] : waiting) asked.refuse(gateway_gone());
  listener_.on_gateway_gone();
}

void GatewayLink::refuse_later(std::uint32_t seq) {
  boost::asio::post(io_, [this, link = link_, seq] {
    if (link->closed()) return;
    if (const Result<Asked> asked = answered(seq)) {
      asked->refuse(Error(Errc::kInvalidArgument,
                          "the policy has too many or too long rules for the gateway"));
    }
  });
}

void GatewayLink::Asked::refuse(const Error& error) const {
  if (finished) finished(fail(error));
  if (reported) reported(fail(error));
  if (listed) listed(fail(error));
}

std::uint32_t GatewayLink::ask(Asked asked) {
  if (!link_) {
    boost::asio::post(io_, [asked = std::move(asked)] { asked.refuse(gateway_gone()); });
    return 0;
  }
  if (waiting_.size() >= kMaxQueued) link_->give_up("too many unanswered requests");
  // Zero is the number of messages that answer no request.
  while (next_seq_ == 0 || waiting_.contains(next_seq_)) ++next_seq_;
  asked.until = Clock::now() + patience_;
  waiting_.emplace(next_seq_, std::move(asked));
  return next_seq_++;
}

Result<GatewayLink::Asked> GatewayLink::answered(std::uint32_t seq) {
  const auto at = waiting_.find(seq);
  if (at == waiting_.end()) return fail(Errc::kProtocol, "answer to an unknown request");
  Asked asked = std::move(at->second);
  waiting_.erase(at);
  return asked;
}

void GatewayLink::open(wire::OpenNetwork request, std::vector<UniqueFd> sockets, Finished done) {
  request.seq = ask({.finished = std::move(done)});
  if (request.seq != 0) send(request, std::move(sockets));
}

void GatewayLink::change(wire::ChangePolicy request, Finished done) {
  request.seq = ask({.finished = std::move(done)});
  if (request.seq != 0) send(request);
}

void GatewayLink::read(wire::ReadNetwork request, Reported done) {
  request.seq = ask({.reported = std::move(done)});
  if (request.seq != 0) send(request);
}

void GatewayLink::list(Listed done) {
  const std::uint32_t seq = ask({.listed = std::move(done)});
  if (seq != 0) send(wire::ListNetworks{seq});
}

void GatewayLink::send(const wire::GatewayRequest& request, std::vector<UniqueFd> fds) {
  std::vector<std::byte> bytes = wire::encode(request);
  if (bytes.size() > wire::kMaxGatewayMessage || !wire::decode_gateway_request(bytes)) {
    // The gateway would close the connection for it, and every sandbox would lose its network.
    return refuse_later(std::visit([](const auto& one) { return one.seq; }, request));
  }
  link_->send(std::move(bytes), std::move(fds));
}

// A gateway that does not answer is dropped, so that the supervisor starts another.
void GatewayLink::watch_patience() {
  patience_timer_.expires_after(patience_ / 2);
  patience_timer_.async_wait([this, link = link_](const boost::system::error_code& error) {
    if (link->closed() || error) return;
    const Clock::time_point now = Clock::now();
    for (const auto& [seq, asked] : waiting_) {
      if (asked.until <= now) return detach("it does not answer");
    }
    watch_patience();
  });
}

Result<> GatewayLink::on_message(const Received& received) {
  TRY(wire::GatewayReply reply, wire::decode_gateway_reply(received.bytes));
  return std::visit([this](auto& one) { return handle(one); }, reply);
}

Result<> GatewayLink::handle(wire::GatewayDone& done) {
  TRY(const Asked asked, answered(done.seq));
  if (!asked.finished) return fail(Errc::kProtocol, "answer of the wrong kind: done");
  asked.finished({});
  return {};
}

Result<> GatewayLink::handle(wire::NetworkRefused& refused) {
  TRY(const Asked asked, answered(refused.seq));
  asked.refuse(Error(refused.code, std::move(refused.message)));
  return {};
}

Result<> GatewayLink::handle(wire::NetworkReport& report) {
  TRY(const Asked asked, answered(report.seq));
  if (!asked.reported) return fail(Errc::kProtocol, "answer of the wrong kind: network report");
  asked.reported(std::move(report));
  return {};
}

Result<> GatewayLink::handle(wire::NetworksListed& listed) {
  TRY(const Asked asked, answered(listed.seq));
  if (!asked.listed) return fail(Errc::kProtocol, "answer of the wrong kind: list of networks");
  asked.listed(std::move(listed.ids));
  return {};
}

Result<> GatewayLink::handle(wire::NetworkDecided& decided) {
  listener_.on_decision(std::move(decided));
  return {};
}

}  // namespace glovebox::node
