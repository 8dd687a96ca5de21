#include "node/sessions/pipe_transfer.h"

#include <utility>

#include "node/sandboxes/guest_pipe.h"
#include "node/sessions/guest_error.h"

namespace glovebox::node {
namespace {

using std::chrono::minutes;

// Without a byte that moves: the helper process is stuck.
constexpr minutes kMaxPipeIdle{2};
// For what is written last of a large file.
constexpr minutes kTransferDoneWait{10};

Clock::time_point idle_deadline(const PendingRequest& request) {
  return request.patient ? Clock::time_point::max() : Clock::now() + kMaxPipeIdle;
}

// False: not in time, or the request is over.
boost::asio::awaitable<bool> pipe_ready(std::shared_ptr<PendingRequest> request,
                                        Clock::time_point deadline, bool to_write) {
  if (to_write) {
    request->pipe.wait_writable();
  } else {
    request->pipe.wait_readable();
  }
  while (request->pipe && !request->over && !(to_write && request->done)) {
    if (to_write ? request->pipe.writable() : request->pipe.readable()) co_return true;
    if (Clock::now() >= deadline) co_return false;
    co_await request->wait(deadline);
  }
  co_return false;
}

}  // namespace

Error helper_error(const wire::FileDone& done) { return guest_error(done.sys_errno, done.message); }

PipeTransfer::~PipeTransfer() {
  if (!request_->done) files_->send(wire::AbandonFile{request_->number});
  files_->close_request(request_->number);
  close();
}

boost::asio::awaitable<std::size_t> PipeTransfer::read_some(char* into, std::size_t size) {
  const std::shared_ptr<PendingRequest> request = request_;
  const Clock::time_point deadline = idle_deadline(*request);
  while (request->pipe && !request->over) {
    const ssize_t got = read_now(request->pipe.fd(), std::span<char>(into, size));
    if (got > 0) co_return static_cast<std::size_t>(got);
    if (got == 0 || errno != EAGAIN) break;
    const bool ready = co_await pipe_ready(request, deadline, false);
    if (!ready) break;
  }
  request->pipe.close();
  co_return 0;
}

boost::asio::awaitable<bool> PipeTransfer::write(std::string_view bytes) {
  const std::shared_ptr<PendingRequest> request = request_;
  Clock::time_point deadline = idle_deadline(*request);
  while (!bytes.empty()) {
    // Done before commit(): the helper does not want the rest.
    if (!request->pipe || request->over || request->done) co_return false;
    const ssize_t put = write_now(request->pipe.fd(), bytes);
    if (put > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      deadline = idle_deadline(*request);
      continue;
    }
    if (errno != EAGAIN) break;
    const bool ready = co_await pipe_ready(request, deadline, true);
    if (!ready) break;
  }
  if (!bytes.empty()) request->pipe.close();
  co_return bytes.empty();
}

void PipeTransfer::commit() {
  // First the end of the pipe, then the confirmation that this is the end of the file.
  request_->pipe.close();
  files_->commit(request_->number);
}

void PipeTransfer::mark() { files_->send(wire::CommitFile{request_->number}); }

Task<wire::FileDone> PipeTransfer::done() {
  const std::shared_ptr<PendingRequest> request = request_;
  request->pipe.close();
  const Clock::time_point deadline = Clock::now() + kTransferDoneWait;
  while (!request->done && !request->over && Clock::now() < deadline) {
    co_await request->wait(deadline);
  }
  if (request->done && request->done->sys_errno == 0) co_return *request->done;
  if (request->done) co_return fail(helper_error(*request->done));
  if (request->over) co_return fail(*request->over);
  co_return fail(Errc::kTimeout, "the sandbox did not finish in time");
}

void PipeTransfer::close() {
  request_->pipe.close();
  if (!request_->over) request_->over = Error(Errc::kUnavailable, "it was closed");
  request_->signal.set();
}

}  // namespace glovebox::node
