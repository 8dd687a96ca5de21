#include "node/gateway_link.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "base/fd_message.h"
#include "base/log.h"

namespace glovebox::node {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

// So that a gateway with much to tell does not keep everything else on this thread waiting.
constexpr int kRepliesAtOnce = 64;

Error gone() { return Error(Errc::kUnavailable, "the network gateway is gone"); }

}  // namespace

GatewayLink::GatewayLink(boost::asio::io_context& io, Listener& listener,
                         std::chrono::milliseconds patience)
    : io_(io), listener_(listener), patience_(patience) {}

GatewayLink::~GatewayLink() {
  if (!link_) return;
  link_->closed = true;
  link_->patience.cancel();
  boost::system::error_code ignored;
  link_->descriptor.close(ignored);
}

void GatewayLink::attach(UniqueFd socket) {
  if (link_) detach("another gateway was attached");
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  link_ = std::make_shared<Link>(io_, std::move(socket));
  log::info("gateway attached");
  wait_readable();
  watch_patience();
}

void GatewayLink::detach(const std::string& why) {
  if (!link_) return;
  log::warn("gateway gone", {{"why", why}});
  ++losses_;
  link_->closed = true;
  link_->patience.cancel();
  boost::system::error_code ignored;
  link_->descriptor.close(ignored);
  link_.reset();
  // Each of these may call back.
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& [seq, asked] : waiting) asked.refuse(gone());
  listener_.on_gateway_gone();
}

// Not from in here: the caller is in the middle of something.
void GatewayLink::detach_later(const std::string& why) {
  boost::asio::post(io_, [this, link = link_, why] {
    if (!link->closed) detach(why);
  });
}

void GatewayLink::refuse_later(std::uint32_t seq) {
  boost::asio::post(io_, [this, link = link_, seq] {
    if (link->closed) return;
    if (const Result<Asked> asked = answered(seq)) {
      asked->refuse(
          Error(Errc::kInvalidArgument, "the policy has more rules than can be followed"));
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
    boost::asio::post(io_, [asked = std::move(asked)] { asked.refuse(gone()); });
    return 0;
  }
  if (waiting_.size() >= kMaxQueued) detach_later("it does not answer what we ask");
  // Zero is the number of what nobody asked for.
  while (next_seq_ == 0 || waiting_.contains(next_seq_)) ++next_seq_;
  asked.until = Clock::now() + patience_;
  waiting_.emplace(next_seq_, std::move(asked));
  return next_seq_++;
}

Result<GatewayLink::Asked> GatewayLink::answered(std::uint32_t seq) {
  const auto at = waiting_.find(seq);
  if (at == waiting_.end()) return fail(Errc::kProtocol, "it answers what nobody asked for");
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
  if (link_->queue.size() >= kMaxQueued) return detach_later("it does not read what we send");
  std::vector<std::byte> bytes = wire::encode(request);
  if (bytes.size() > wire::kMaxGatewayMessage || !wire::decode_gateway_request(bytes)) {
    // The gateway would break with us for it, and everybody would lose their networks.
    return refuse_later(std::visit([](const auto& one) { return one.seq; }, request));
  }
  link_->queue.push_back({std::move(bytes), std::move(fds)});
  if (!link_->write_armed) flush();
}

void GatewayLink::flush() {
  while (!link_->queue.empty()) {
    const Outgoing& next = link_->queue.front();
    std::vector<int> fds;
    for (const UniqueFd& fd : next.fds) fds.push_back(fd.get());
    const auto sent = send_message(link_->descriptor.native_handle(), next.bytes, fds);
    if (!sent && sent.error().sys_errno() == EAGAIN) return wait_writable();
    // That it is gone is said by the reading side, which also has its last words.
    if (!sent) return link_->queue.clear();
    link_->queue.pop_front();
  }
}

void GatewayLink::wait_readable() {
  link_->descriptor.async_wait(Descriptor::wait_read,
                               [this, link = link_](const boost::system::error_code& error) {
                                 if (link->closed || error) return;
                                 read_replies();
                               });
}

void GatewayLink::wait_writable() {
  link_->write_armed = true;
  link_->descriptor.async_wait(Descriptor::wait_write,
                               [this, link = link_](const boost::system::error_code& error) {
                                 if (link->closed || error) return;
                                 link->write_armed = false;
                                 flush();
                               });
}

// One that is there and answers nothing is of no use: it is let go of, and asked for again.
void GatewayLink::watch_patience() {
  link_->patience.expires_after(patience_ / 2);
  link_->patience.async_wait([this, link = link_](const boost::system::error_code& error) {
    if (link->closed || error) return;
    const Clock::time_point now = Clock::now();
    for (const auto& [seq, asked] : waiting_) {
      if (asked.until <= now) return detach("it does not answer");
    }
    watch_patience();
  });
}

void GatewayLink::read_replies() {
  const std::shared_ptr<Link> link = link_;
  for (int i = 0; i < kRepliesAtOnce; ++i) {
    const Result<bool> more = read_one();
    if (link->closed) return;  // somebody we called has let go of it
    if (!more) return detach(more.error().message());
    if (!*more) break;
  }
  wait_readable();
}

Result<bool> GatewayLink::read_one() {
  auto received = receive_message(link_->descriptor.native_handle(), wire::kMaxGatewayMessage, 0);
  if (!received && received.error().sys_errno() == EAGAIN) return false;
  if (!received) return fail(std::move(received.error()));
  if (received->bytes.empty()) return fail(Errc::kUnavailable, "it closed its socket");
  TRY(wire::GatewayReply reply, wire::decode_gateway_reply(received->bytes));
  TRY_OK(std::visit([this](auto& one) { return handle(one); }, reply));
  return true;
}

Result<> GatewayLink::handle(wire::GatewayDone& done) {
  TRY(const Asked asked, answered(done.seq));
  if (!asked.finished) return fail(Errc::kProtocol, "it has done what nobody asked for");
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
  if (!asked.reported) return fail(Errc::kProtocol, "it reports what nobody asked for");
  asked.reported(std::move(report));
  return {};
}

Result<> GatewayLink::handle(wire::NetworksListed& listed) {
  TRY(const Asked asked, answered(listed.seq));
  if (!asked.listed) return fail(Errc::kProtocol, "it lists what nobody asked for");
  asked.listed(std::move(listed.ids));
  return {};
}

Result<> GatewayLink::handle(wire::NetworkDecided& decided) {
  listener_.on_decision(std::move(decided));
  return {};
}

}  // namespace glovebox::node
