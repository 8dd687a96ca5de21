#include "node/sessions/pending_requests.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <utility>

#include "node/sandboxes/guest_pipe.h"

namespace glovebox::node {
namespace {

constexpr int kPipeBytes = 1 << 20;

// A TCP socket and nothing else: other descriptors could block us or behave differently.
Result<> check_is_connection(int fd) {
  struct stat info {};
  int type = 0;
  int domain = 0;
  socklen_t size = sizeof type;
  if (::fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode) ||
      ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
      ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &(size = sizeof domain)) != 0 ||
      (domain != AF_INET && domain != AF_INET6)) {
    return fail(Errc::kProtocol, "expected a connected TCP socket from the sandbox's agent");
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return {};
}

Error unexpected_answer() { return Error(Errc::kProtocol, "answer to an unknown request"); }

}  // namespace

boost::asio::awaitable<void> PendingRequest::wait(Clock::time_point deadline) {
  const std::shared_ptr<PendingRequest> self = shared_from_this();
  if (deadline != Clock::time_point::max()) {
    timer.expires_at(deadline);
    timer.async_wait([self](const boost::system::error_code& error) {
      if (!error) self->signal.set();
    });
  }
  co_await signal.wait();
  timer.cancel();
}

Result<std::shared_ptr<PendingRequest>> PendingRequests::open(PendingRequest::Expects what) {
  if (open_.size() >= kMaxOpen) {
    return fail(Errc::kResourceExhausted, "too many requests to this sandbox at once");
  }
  const wire::RequestNumber number = next_++;
  return open_.emplace(number, std::make_shared<PendingRequest>(io_, number, what)).first->second;
}

std::size_t PendingRequests::count(bool patient) const {
  return static_cast<std::size_t>(std::count_if(open_.begin(), open_.end(), [&](const auto& one) {
    return one.second->expects != PendingRequest::Expects::kPort && one.second->patient == patient;
  }));
}

void PendingRequests::end_all(const Error& why) {
  for (auto& [number, request] : std::exchange(open_, {})) {
    request->over = why;
    request->signal.set();
  }
}

Result<std::shared_ptr<PendingRequest>> PendingRequests::find(wire::RequestNumber number) const {
  if (number == 0 || number >= next_) return fail(unexpected_answer());
  const auto at = open_.find(number);
  return at == open_.end() ? nullptr : at->second;
}

Result<std::shared_ptr<PendingRequest>> PendingRequests::expect_pipe(
    wire::RequestNumber number) const {
  TRY(std::shared_ptr<PendingRequest> request, find(number));
  if (!request) return request;
  if (request->expects != PendingRequest::Expects::kPipe || request->opened || request->done) {
    return fail(unexpected_answer());
  }
  return request;
}

Result<std::shared_ptr<PendingRequest>> PendingRequests::expect_port(
    wire::RequestNumber number) const {
  TRY(std::shared_ptr<PendingRequest> request, find(number));
  if (!request) return request;
  if (request->expects != PendingRequest::Expects::kPort || request->port ||
      request->port_refused) {
    return fail(unexpected_answer());
  }
  return request;
}

void PendingRequests::give_up(PendingRequest& request, Error why) {
  request.over = std::move(why);
  request.signal.set();
}

Result<> PendingRequests::on(wire::FileOpened opened, UniqueFd pipe) {
  TRY(const std::shared_ptr<PendingRequest> request, expect_pipe(opened.request));
  if (!request) return {};
  TRY_OK(check_is_pipe(pipe.get()));
  // A larger pipe, if allowed.
  (void)::fcntl(pipe.get(), F_SETPIPE_SZ, kPipeBytes);
  take_pipe(*request, std::move(opened.entry), std::move(pipe));
  return {};
}

void PendingRequests::take_pipe(PendingRequest& request, std::string entry, UniqueFd pipe) {
  request.pipe = WatchedFd(request.io, std::move(pipe));
  request.pipe.wakes(&request.signal);
  request.entry = std::move(entry);
  request.opened = true;
  request.signal.set();
}

Result<> PendingRequests::on(wire::FileDone done) {
  TRY(const std::shared_ptr<PendingRequest> request, find(done.request));
  if (!request) return {};
  if (request->expects == PendingRequest::Expects::kPort || request->done)
    return fail(unexpected_answer());
  request->done = std::move(done);
  request->signal.set();
  return {};
}

Result<> PendingRequests::on(UniqueFd port, wire::RequestNumber number) {
  TRY(const std::shared_ptr<PendingRequest> request, expect_port(number));
  if (!request) return {};
  TRY_OK(check_is_connection(port.get()));
  take_port(*request, std::move(port));
  return {};
}

void PendingRequests::take_port(PendingRequest& request, UniqueFd port) {
  request.port = std::move(port);
  request.signal.set();
}

Result<> PendingRequests::on(const wire::PortRefused& refused) {
  TRY(const std::shared_ptr<PendingRequest> request, expect_port(refused.request));
  if (!request) return {};
  request->port_refused = refused.sys_errno;
  request->signal.set();
  return {};
}

}  // namespace glovebox::node
