// What is asked of a session's files and ports. Bytes go through the pipe that comes with the
// answer, straight into and out of the caller's buffer.
#include <utility>

#include "node/guest_pipe.h"
#include "node/session.h"
#include "node/session_errors.h"

namespace glovebox::node {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// A copy or a removal of a large tree; what is written last of a large file.
constexpr minutes kDoneWait{10};
// Without a byte that moves: the helper is stuck.
constexpr minutes kIdle{2};
constexpr seconds kPortWait{10};
// The agent has 32 helpers at most.
constexpr std::size_t kMostFiles = 22;
constexpr std::size_t kMostWatches = 8;
constexpr seconds kTurnWait{30};
constexpr std::chrono::milliseconds kLookAgain{3};

bool waits_for_events(wire::FileOp op) { return op == wire::FileOp::kWatch; }

Error helper_error(const wire::FileDone& done) { return guest_error(done.sys_errno, done.message); }

class PipeTransfer final : public FileTransfer {
 public:
  PipeTransfer(std::shared_ptr<LiveSession> session, std::shared_ptr<Request> request)
      : session_(std::move(session)), request_(std::move(request)) {}
  ~PipeTransfer() override {
    if (!request_->done) session_->send(wire::AbandonFile{request_->number});
    session_->close_request(request_->number);
    close();
  }

  const std::string& entry() const override { return request_->entry; }

  boost::asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override {
    const std::shared_ptr<Request> request = request_;
    const Clock::time_point deadline = idle_until(*request);
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

  boost::asio::awaitable<bool> write(std::string_view bytes) override {
    const std::shared_ptr<Request> request = request_;
    Clock::time_point deadline = idle_until(*request);
    while (!bytes.empty()) {
      // Done before it was told that this is all: it does not want the rest.
      if (!request->pipe || request->over || request->done) co_return false;
      const ssize_t put = write_now(request->pipe.fd(), bytes);
      if (put > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(put));
        deadline = idle_until(*request);
        continue;
      }
      if (errno != EAGAIN) break;
      const bool ready = co_await pipe_ready(request, deadline, true);
      if (!ready) break;
    }
    if (!bytes.empty()) request->pipe.close();
    co_return bytes.empty();
  }

  void commit() override {
    // The end of the pipe, and then the word that this was meant to be the end.
    request_->pipe.close();
    session_->send(wire::CommitFile{request_->number});
  }

  Task<wire::FileDone> done() override {
    const std::shared_ptr<Request> request = request_;
    request->pipe.close();
    const Clock::time_point deadline = Clock::now() + kDoneWait;
    while (!request->done && !request->over && Clock::now() < deadline) {
      co_await request->wait(deadline);
    }
    if (request->done && request->done->sys_errno == 0) co_return *request->done;
    if (request->done) co_return fail(helper_error(*request->done));
    if (request->over) co_return fail(*request->over);
    co_return fail(Errc::kTimeout, "the sandbox did not finish in time");
  }

  void close() override {
    request_->pipe.close();
    if (!request_->over) request_->over = Error(Errc::kUnavailable, "it was closed");
    request_->signal.set();
  }

 private:
  static Clock::time_point idle_until(const Request& request) {
    return request.patient ? Clock::time_point::max() : Clock::now() + kIdle;
  }

  // False: not in time, or it is over.
  static boost::asio::awaitable<bool> pipe_ready(std::shared_ptr<Request> request,
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

  std::shared_ptr<LiveSession> session_;
  std::shared_ptr<Request> request_;
};

Result<> check_file_frame(const wire::ServerFrame& frame) {
  if (wire::decode_server_frame(wire::encode(frame))) return {};
  return fail(Errc::kInvalidArgument, "the path, the mode or the user cannot be so");
}

}  // namespace

std::unique_ptr<FileTransfer> make_transfer(std::shared_ptr<LiveSession> session,
                                            std::shared_ptr<Request> request) {
  return std::make_unique<PipeTransfer>(std::move(session), std::move(request));
}

// Each is a process in the sandbox, which has not many: the next waits for its turn. A watch may
// stay for hours, so there are few, and they do not take the others' places.
Task<> LiveSession::take_turn(bool watch) {
  if (watch) {
    if (requests_.count(true) < kMostWatches) co_return Result<>();
    co_return fail(Errc::kResourceExhausted, "there are " + std::to_string(kMostWatches) +
                                                 " watches in this sandbox already");
  }
  const Clock::time_point deadline = until(kTurnWait);
  boost::asio::steady_timer timer(place_.io);
  while (requests_.count(false) >= kMostFiles) {
    if (Clock::now() >= deadline) {
      co_return fail(Errc::kResourceExhausted, "too many file requests in this sandbox at once");
    }
    timer.expires_after(kLookAgain);
    co_await timer.async_wait(boost::asio::use_awaitable);
    CO_TRY_OK(usable());
  }
  co_return Result<>();
}

// Until it is opened, done, or over; whoever asked looks which.
Task<std::shared_ptr<Request>> LiveSession::ask(wire::FileRequest file, Request::Expects what,
                                                Clock::time_point deadline) {
  CO_TRY_OK(usable());
  file.request = 1;
  CO_TRY_OK(check_file_frame(file));
  CO_TRY_OK(co_await take_turn(waits_for_events(file.op)));
  CO_TRY(const std::shared_ptr<Request> request, requests_.open(what));
  file.request = request->number;
  request->patient = waits_for_events(file.op);
  const wire::ServerFrame frame = std::move(file);
  link_.send(frame);
  while (!request->opened && !request->done && !request->over && Clock::now() < deadline) {
    co_await request->wait(deadline);
  }
  if (request->opened || request->done) co_return request;
  requests_.close(request->number);
  if (request->over) co_return fail(*request->over);
  send(wire::AbandonFile{request->number});
  co_return fail(Errc::kTimeout, "the sandbox did not answer in time");
}

Task<wire::FileDone> LiveSession::file(wire::FileRequest request) {
  const auto self = shared_from_this();
  CO_TRY(const std::shared_ptr<Request> asked,
         co_await ask(std::move(request), Request::Expects::kDone, until(kDoneWait)));
  requests_.close(asked->number);
  if (asked->done->sys_errno != 0) co_return fail(helper_error(*asked->done));
  co_return std::move(*asked->done);
}

Task<std::unique_ptr<FileTransfer>> LiveSession::transfer(wire::FileRequest request) {
  const auto self = shared_from_this();
  CO_TRY(const std::shared_ptr<Request> asked,
         co_await ask(std::move(request), Request::Expects::kPipe,
                      until(place_.options.request_wait)));
  if (asked->opened) co_return make_transfer(self, asked);
  requests_.close(asked->number);
  if (asked->done->sys_errno != 0) co_return fail(helper_error(*asked->done));
  co_return fail(Errc::kProtocol, "the sandbox has finished what it did not begin");
}

Task<UniqueFd> LiveSession::connect_port(std::uint16_t port) {
  const auto self = shared_from_this();
  CO_TRY_OK(usable());
  if (port == 0) co_return fail(Errc::kInvalidArgument, "there is no port 0");
  CO_TRY(const std::shared_ptr<Request> request, requests_.open(Request::Expects::kPort));
  const wire::ServerFrame frame = wire::ConnectPort{request->number, port};
  link_.send(frame);
  const Clock::time_point deadline = until(kPortWait);
  while (!request->port && !request->port_refused && !request->over && Clock::now() < deadline) {
    co_await request->wait(deadline);
  }
  requests_.close(request->number);
  if (request->port) co_return std::move(request->port);
  if (request->over) co_return fail(*request->over);
  if (request->port_refused) co_return fail(guest_error(*request->port_refused, "connect"));
  co_return fail(Errc::kTimeout, "the sandbox did not connect in time");
}

}  // namespace glovebox::node
