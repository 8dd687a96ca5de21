#include "node/launcher_link.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "base/assert.h"
#include "base/fd_message.h"
#include "base/log.h"

namespace glovebox::node {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

// So that one busy launcher does not keep everything else on this thread waiting.
constexpr int kRepliesAtOnce = 64;

Error gone() { return Error(Errc::kUnavailable, "the launcher is gone"); }

}  // namespace

LauncherLink::~LauncherLink() {
  if (!link_) return;
  link_->closed = true;
  boost::system::error_code ignored;
  link_->descriptor.close(ignored);
}

void LauncherLink::attach(UniqueFd socket) {
  if (link_) detach("another launcher was attached");
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  link_ = std::make_shared<Link>(io_, std::move(socket));
  wait_readable();
}

void LauncherLink::detach(const std::string& why) {
  if (!link_) return;
  log::warn("launcher gone", {{"why", why}});
  ++losses_;
  link_->closed = true;
  boost::system::error_code ignored;
  link_->descriptor.close(ignored);
  link_.reset();
  refusal_.reset();
  // Each of these may call back and make or end others.
  const auto waiting = std::exchange(waiting_, {});
  const auto sandboxes = std::exchange(sandboxes_, {});
  for (const auto& [id, sandbox] : sandboxes) sandbox->lose();
  for (const auto& [seq, done] : waiting) done(fail(gone()));
  listener_.on_launcher_gone();
}

void LauncherLink::create(wire::CreateSandbox request, UniqueFd agent_end, Created done) {
  if (!link_) {
    boost::asio::post(io_, [done = std::move(done)] { done(fail(gone())); });
    return;
  }
  // Zero is the number of what nobody asked for.
  while (next_seq_ == 0 || waiting_.contains(next_seq_)) ++next_seq_;
  request.seq = next_seq_++;
  waiting_.emplace(request.seq, std::move(done));
  send(request, std::move(agent_end));
}

void LauncherLink::take(const SandboxId& id, const Limits& limits) {
  send(wire::TakeSandbox{id, limits}, UniqueFd());
}

void LauncherLink::destroy(const SandboxId& id) { send(wire::DestroySandbox{id}, UniqueFd()); }

void LauncherLink::prepare(const std::string& template_name) {
  send(wire::PrepareTemplate{template_name}, UniqueFd());
}

void LauncherLink::add(Sandbox& sandbox) {
  if (!link_) {
    sandbox.lost_ = true;
    return;
  }
  const bool is_new = sandboxes_.emplace(sandbox.id().str(), &sandbox).second;
  GBX_ASSERT(is_new);  // read_one() has seen to it
}

void LauncherLink::remove(Sandbox& sandbox) {
  const auto at = sandboxes_.find(sandbox.id().str());
  if (at != sandboxes_.end() && at->second == &sandbox) sandboxes_.erase(at);
}

void LauncherLink::send(const wire::LauncherRequest& request, UniqueFd fd) {
  if (!link_) return;
  if (link_->queue.size() >= kMaxQueued) {
    // Not from in here: the caller is in the middle of something.
    boost::asio::post(io_, [this, link = link_] {
      if (!link->closed) detach("it does not read what we send");
    });
    return;
  }
  link_->queue.push_back({wire::encode(request), std::move(fd)});
  if (!link_->write_armed) flush();
}

void LauncherLink::flush() {
  while (!link_->queue.empty()) {
    const Outgoing& next = link_->queue.front();
    const int fd = next.fd.get();
    const std::span<const int> fds(&fd, next.fd ? 1 : 0);
    const auto sent = send_message(link_->descriptor.native_handle(), next.bytes, fds);
    if (!sent && sent.error().sys_errno() == EAGAIN) return wait_writable();
    // That it is gone is said by the reading side, which also has its last words.
    if (!sent) return link_->queue.clear();
    link_->queue.pop_front();
  }
}

void LauncherLink::wait_readable() {
  link_->descriptor.async_wait(Descriptor::wait_read,
                               [this, link = link_](const boost::system::error_code& error) {
                                 if (link->closed || error) return;
                                 read_replies();
                               });
}

void LauncherLink::wait_writable() {
  link_->write_armed = true;
  link_->descriptor.async_wait(Descriptor::wait_write,
                               [this, link = link_](const boost::system::error_code& error) {
                                 if (link->closed || error) return;
                                 link->write_armed = false;
                                 flush();
                               });
}

void LauncherLink::read_replies() {
  const std::shared_ptr<Link> link = link_;
  for (int i = 0; i < kRepliesAtOnce; ++i) {
    const Result<bool> more = read_one();
    if (link->closed) return;  // somebody we called has let go of it
    if (!more) return detach(more.error().message());
    if (!*more) break;
  }
  wait_readable();
}

Result<bool> LauncherLink::read_one() {
  auto received = receive_message(link_->descriptor.native_handle(), wire::kMaxLauncherMessage, 0);
  if (!received && received.error().sys_errno() == EAGAIN) return false;
  if (!received) return fail(std::move(received.error()));
  if (received->bytes.empty()) return fail(Errc::kUnavailable, "it closed its socket");
  TRY(wire::LauncherReply reply, wire::decode_launcher_reply(received->bytes));
  TRY_OK(std::visit([this](auto& one) { return handle(one); }, reply));
  return true;
}

Result<> LauncherLink::handle(wire::SandboxCreated& created) {
  const auto at = waiting_.find(created.seq);
  if (at == waiting_.end() || sandboxes_.contains(created.id.str())) {
    return fail(Errc::kProtocol, "it made a sandbox that nobody asked for");
  }
  const Created done = std::move(at->second);
  waiting_.erase(at);
  done(std::move(created));
  return {};
}

Result<> LauncherLink::handle(wire::SandboxRefused& refused) {
  Error error(refused.code, std::move(refused.message), refused.sys_errno);
  if (refused.seq == 0) {
    // Of a sandbox that had ended before our word arrived there is nothing to say.
    if (refused.code != Errc::kNotFound) refusal_ = std::move(error);
    return {};
  }
  const auto at = waiting_.find(refused.seq);
  if (at == waiting_.end()) return fail(Errc::kProtocol, "it refused what nobody asked for");
  const Created done = std::move(at->second);
  waiting_.erase(at);
  done(fail(std::move(error)));
  return {};
}

Result<> LauncherLink::handle(wire::SandboxEnded& ended) {
  std::optional<Error> refusal = std::exchange(refusal_, std::nullopt);
  const auto at = sandboxes_.find(ended.id.str());
  if (at == sandboxes_.end()) return {};  // we had let go of it already
  Sandbox& sandbox = *at->second;
  sandboxes_.erase(at);
  sandbox.end({ended.reason, ended.usage, std::move(refusal)});
  return {};
}

Result<> LauncherLink::handle(wire::TemplateChanged& changed) {
  listener_.on_template(changed.status);
  return {};
}

}  // namespace glovebox::node
