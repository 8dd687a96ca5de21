#include "node/links/launcher_link.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "node/links/launcher_error.h"

namespace glovebox::node {
namespace {

constexpr std::size_t kLentFds = 3;

Error launcher_gone() { return launcher_error("the launcher is gone"); }

}  // namespace

LauncherLink::~LauncherLink() {
  if (link_) link_->close();
}

void LauncherLink::attach(UniqueFd socket) {
  if (link_) detach("another launcher was attached");
  const PacketLink::Bounds bounds{wire::kMaxLauncherMessage, kLentFds, kMaxQueued};
  link_ = PacketLink::start(
      io_, std::move(socket), bounds,
      [this](Received received) { return on_message(std::move(received)); },
      [this](const std::string& why) { detach(why); });
}

void LauncherLink::detach(const std::string& why) {
  if (!link_) return;
  log::warn("launcher gone", {{"why", why}});
  ++losses_;
  link_->close();
  link_.reset();
  refusal_.reset();
  // Each of these callbacks may create or end others.
  const auto waiting = std::exchange(waiting_, {});
  const auto sandboxes = std::exchange(sandboxes_, {});
  for (const auto& [id, sandbox] : sandboxes) sandbox->lose();
  for (const auto& [seq, asked] : waiting) asked.refuse(launcher_gone());
  listener_.on_launcher_gone();
}

void LauncherLink::Asked::refuse(const Error& error) const {
  if (created) created(fail(error));
  if (measured) measured(fail(error));
  if (host_measured) host_measured(fail(error));
  if (finished) finished(fail(error));
  if (lent) lent(fail(error));
}

std::uint32_t LauncherLink::ask(Asked asked) {
  if (!link_) {
    boost::asio::post(io_, [asked = std::move(asked)] { asked.refuse(launcher_gone()); });
    return 0;
  }
  // Zero is the number of messages that answer no request.
  while (next_seq_ == 0 || waiting_.contains(next_seq_)) ++next_seq_;
  waiting_.emplace(next_seq_, std::move(asked));
  return next_seq_++;
}

Result<LauncherLink::Asked> LauncherLink::answered(std::uint32_t seq) {
  const auto at = waiting_.find(seq);
  if (at == waiting_.end()) return fail(Errc::kProtocol, "answer to an unknown request");
  Asked asked = std::move(at->second);
  waiting_.erase(at);
  return asked;
}

void LauncherLink::create(wire::CreateSandbox request, std::vector<UniqueFd> ends, Created done) {
  request.seq = ask({.created = std::move(done)});
  if (request.seq != 0) send(request, std::move(ends));
}

void LauncherLink::take(const SandboxId& id, const Limits& limits, Network network, Share share) {
  send(wire::TakeSandbox{id, limits, network == Network::kUp, share.cpu_weight, share.tenant});
}

void LauncherLink::destroy(const SandboxId& id) { send(wire::DestroySandbox{id}); }

void LauncherLink::recycle(const SandboxId& id, bool hurry, UniqueFd end, Created done) {
  const std::uint32_t seq = ask({.created = std::move(done)});
  if (seq == 0) return;
  std::vector<UniqueFd> ends;
  ends.push_back(std::move(end));
  send(wire::RecycleSandbox{seq, id, hurry, false}, std::move(ends));
}

void LauncherLink::keep(const SandboxId& id, Created done) {
  const std::uint32_t seq = ask({.created = std::move(done)});
  if (seq != 0) send(wire::RecycleSandbox{seq, id, false, true});
}

void LauncherLink::prepare(const std::string& template_name) {
  send(wire::PrepareTemplate{template_name});
}

void LauncherLink::define(TemplateDefinition definition, Finished done) {
  const std::uint32_t seq = ask({.finished = std::move(done)});
  if (seq != 0) send(wire::DefineTemplate{seq, std::move(definition)});
}

void LauncherLink::forget_template(const std::string& id, Finished done) {
  const std::uint32_t seq = ask({.finished = std::move(done)});
  if (seq != 0) send(wire::ForgetTemplate{seq, id});
}

void LauncherLink::list(Listed each, Finished done) {
  const std::uint32_t seq = ask({.listed = std::move(each), .finished = std::move(done)});
  if (seq != 0) send(wire::ListSandboxes{seq});
}

void LauncherLink::freeze(const SandboxId& id, bool frozen, Finished done) {
  const std::uint32_t seq = ask({.finished = std::move(done)});
  if (seq != 0) send(wire::FreezeSandbox{seq, id, frozen});
}

void LauncherLink::measure(const SandboxId& id, Measured done) {
  const std::uint32_t seq = ask({.measured = std::move(done)});
  if (seq != 0) send(wire::MeasureSandbox{seq, id});
}

void LauncherLink::measure_host(HostMeasured done) {
  const std::uint32_t seq = ask({.host_measured = std::move(done)});
  if (seq != 0) send(wire::MeasureHost{seq});
}

void LauncherLink::lend_network(const SandboxId& id, Lent done) {
  const std::uint32_t seq = ask({.lent = std::move(done)});
  if (seq != 0) send(wire::LendNetwork{seq, id});
}

void LauncherLink::keep_layer(LayerRecord record, Finished done) {
  const std::uint32_t seq = ask({.finished = std::move(done)});
  if (seq != 0) send(wire::KeepLayer{seq, std::move(record)});
}

void LauncherLink::note_layer(const std::string& id, std::string note, Finished done) {
  const std::uint32_t seq = ask({.finished = std::move(done)});
  if (seq != 0) send(wire::NoteLayer{seq, id, std::move(note)});
}

void LauncherLink::drop_layer(const std::string& id, Finished done) {
  const std::uint32_t seq = ask({.finished = std::move(done)});
  if (seq != 0) send(wire::DropLayer{seq, id});
}

void LauncherLink::list_layers(LayerFound each, Finished done) {
  const std::uint32_t seq = ask({.finished = std::move(done), .layer_found = std::move(each)});
  if (seq != 0) send(wire::ListLayers{seq});
}

void LauncherLink::add(Sandbox& sandbox) {
  if (!link_) {
    sandbox.lost_ = true;
    return;
  }
  const bool is_new = sandboxes_.emplace(sandbox.id().str(), &sandbox).second;
  GBX_ASSERT(is_new);  // handle() has seen to it
}

void LauncherLink::remove(Sandbox& sandbox) {
  const auto at = sandboxes_.find(sandbox.id().str());
  if (at != sandboxes_.end() && at->second == &sandbox) sandboxes_.erase(at);
}

void LauncherLink::send(const wire::LauncherRequest& request, std::vector<UniqueFd> fds) {
  if (link_) link_->send(wire::encode(request), std::move(fds));
}

Result<> LauncherLink::on_message(Received received) {
  TRY(wire::LauncherReply reply, wire::decode_launcher_reply(received.bytes));
  const std::size_t expected = std::holds_alternative<wire::SandboxListed>(reply) ? 1
                               : std::holds_alternative<wire::NetworkLent>(reply) ? kLentFds
                                                                                  : 0;
  if (received.fds.size() != expected) {
    return fail(Errc::kProtocol, "wrong number of descriptors in a message");
  }
  received_ = std::move(received.fds);
  last_answer_ = options_.now();
  return std::visit([this](auto& one) { return handle(one); }, reply);
}

Result<> LauncherLink::handle(wire::SandboxCreated& created) {
  TRY(const Asked asked, answered(created.seq));
  if (!asked.created || sandboxes_.contains(created.id.str())) {
    return fail(Errc::kProtocol, "answer of the wrong kind: sandbox created");
  }
  asked.created(std::move(created));
  return {};
}

Result<> LauncherLink::handle(wire::SandboxRefused& refused) {
  Error error(refused.code, std::move(refused.message), refused.sys_errno);
  if (refused.seq == 0) {
    // The sandbox had ended before our message arrived.
    if (refused.code != Errc::kNotFound) refusal_ = std::move(error);
    return {};
  }
  TRY(const Asked asked, answered(refused.seq));
  asked.refuse(error);
  return {};
}

Result<> LauncherLink::handle(wire::SandboxEnded& ended) {
  std::optional<Error> refusal = std::exchange(refusal_, std::nullopt);
  const auto at = sandboxes_.find(ended.id.str());
  if (at == sandboxes_.end()) return {};  // it was removed already
  Sandbox& sandbox = *at->second;
  sandboxes_.erase(at);
  sandbox.end({ended.reason, ended.usage, std::move(refusal)});
  return {};
}

Result<> LauncherLink::handle(wire::TemplateChanged& changed) {
  listener_.on_template(changed.status);
  return {};
}

Result<> LauncherLink::handle(wire::SandboxListed& listed) {
  const auto at = waiting_.find(listed.seq);
  if (at == waiting_.end() || !at->second.listed || sandboxes_.contains(listed.id.str())) {
    return fail(Errc::kProtocol, "unexpected or duplicate sandbox in a list");
  }
  const Listed each = at->second.listed;  // more may follow
  each(std::move(listed), std::move(received_.front()));
  return {};
}

Result<> LauncherLink::handle(wire::SandboxMeasured& measured) {
  TRY(const Asked asked, answered(measured.seq));
  if (!asked.measured) return fail(Errc::kProtocol, "answer of the wrong kind: measurement");
  asked.measured(measured);
  return {};
}

Result<> LauncherLink::handle(wire::HostMeasured& measured) {
  TRY(const Asked asked, answered(measured.seq));
  if (!asked.host_measured) return fail(Errc::kProtocol, "answer of the wrong kind: host");
  asked.host_measured(measured);
  return {};
}

Result<> LauncherLink::handle(wire::Done& done) {
  TRY(const Asked asked, answered(done.seq));
  if (!asked.finished) return fail(Errc::kProtocol, "answer of the wrong kind: done");
  asked.finished({});
  return {};
}

Result<> LauncherLink::handle(wire::NetworkLent& lent) {
  TRY(const Asked asked, answered(lent.seq));
  if (!asked.lent) return fail(Errc::kProtocol, "answer of the wrong kind: network lent");
  asked.lent(std::exchange(received_, {}));
  return {};
}

Result<> LauncherLink::handle(wire::LayerListed& listed) {
  const auto at = waiting_.find(listed.seq);
  if (at == waiting_.end() || !at->second.layer_found) {
    return fail(Errc::kProtocol, "answer of the wrong kind: layer");
  }
  const LayerFound each = at->second.layer_found;  // more may follow
  each(std::move(listed.record));
  return {};
}

}  // namespace glovebox::node
