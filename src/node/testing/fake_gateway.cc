#include "node/testing/fake_gateway.h"

#include <fcntl.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

#include "base/fd_message.h"

namespace glovebox::node {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

}  // namespace

struct FakeGateway::Link {
  Link(boost::asio::io_context& io, UniqueFd fd) : descriptor(io, fd.release()) {}
  Descriptor descriptor;
  bool closed = false;
};

UniqueFd FakeGateway::connect() {
  hang_up();
  auto pair = seqpacket_pair().value();
  ::fcntl(pair.theirs.get(), F_SETFL, O_NONBLOCK);
  link_ = std::make_shared<Link>(io_, std::move(pair.theirs));
  wait();
  return std::move(pair.ours);
}

void FakeGateway::hang_up() {
  if (!link_) return;
  link_->closed = true;
  link_->descriptor.close();
  link_.reset();
}

void FakeGateway::decide(const SandboxId& id, wire::NetDecision decision) {
  say(wire::NetworkDecided{id, std::move(decision)});
}

void FakeGateway::say_garbage() {
  const std::byte bytes[] = {std::byte{0xff}, std::byte{1}};
  (void)send_message(link_->descriptor.native_handle(), bytes);
}

void FakeGateway::say(const wire::GatewayReply& reply) {
  if (!link_ || is_silent) return;
  (void)send_message(link_->descriptor.native_handle(), wire::encode(reply));
}

void FakeGateway::wait() {
  link_->descriptor.async_wait(Descriptor::wait_read,
                               [this, link = link_](const boost::system::error_code& error) {
                                 if (error || link->closed) return;
                                 on_message();
                                 if (!link->closed) wait();
                               });
}

void FakeGateway::on_message() {
  auto received = receive_message(link_->descriptor.native_handle(), wire::kMaxGatewayMessage, 3);
  if (!received && received.error().sys_errno() == EAGAIN) return;
  if (!received || received->bytes.empty()) return hang_up();
  const wire::GatewayRequest request = wire::decode_gateway_request(received->bytes).value();
  if (const auto* open = std::get_if<wire::OpenNetwork>(&request)) {
    ++opened;
    if (received->fds.size() != 3) missed_descriptors = true;
    if (refuses) return say(wire::NetworkRefused{open->seq, refuses->code, refuses->message});
    if (refuses_all_but_none && !open->policy.is_none()) {
      return say(wire::NetworkRefused{open->seq, Errc::kPolicy, "beyond the ceiling"});
    }
    Network& network = networks[open->id];
    network.tenant = open->tenant;
    network.policy = open->policy;
    network.is_build = open->is_build;
    say(wire::GatewayDone{open->seq});
  } else if (const auto* change = std::get_if<wire::ChangePolicy>(&request)) {
    ++changed;
    const auto at = networks.find(change->id);
    if (at == networks.end()) {
      return say(wire::NetworkRefused{change->seq, Errc::kNotFound, "no such network"});
    }
    at->second.policy = change->policy;
    say(wire::GatewayDone{change->seq});
  } else if (const auto* read = std::get_if<wire::ReadNetwork>(&request)) {
    const auto at = networks.find(read->id);
    if (read->close) closed.push_back(read->id);
    if (at == networks.end()) {
      return say(wire::NetworkRefused{read->seq, Errc::kNotFound, "no such network"});
    }
    say(wire::NetworkReport{read->seq, read->id, at->second.totals, at->second.decisions, 0});
    if (read->close) networks.erase(at);
  } else if (const auto* list = std::get_if<wire::ListNetworks>(&request)) {
    ++listed;
    wire::NetworksListed answer;
    answer.seq = list->seq;
    for (const auto& [id, network] : networks) answer.ids.push_back(id);
    say(answer);
  }
}

}  // namespace glovebox::node
