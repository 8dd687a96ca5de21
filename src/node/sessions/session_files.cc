#include "node/sessions/session_files.h"

#include <utility>

#include "node/sessions/guest_error.h"
#include "node/sessions/pipe_transfer.h"

namespace glovebox::node {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// For a copy or a removal of a large tree.
constexpr minutes kFileDoneWait{10};
constexpr seconds kPortWait{10};
constexpr seconds kEndWait{10};
// The agent has 32 helper processes at most.
constexpr std::size_t kMaxFileRequests = 22;
constexpr std::size_t kMaxWatches = 8;
constexpr seconds kSlotWait{30};
constexpr std::chrono::milliseconds kSlotPoll{3};

bool waits_for_events(wire::FileOp op) { return op == wire::FileOp::kWatch; }

Result<> check_file_frame(const wire::ServerFrame& frame) {
  if (wire::decode_server_frame(wire::encode(frame))) return {};
  return fail(Errc::kInvalidArgument, "invalid path, mode, owner or user name");
}

}  // namespace

// Each request is a process in the sandbox, and there are few: further ones wait. A watch may stay
// for hours, so watches are limited separately and do not take the places of other requests.
Task<> SessionFiles::wait_for_slot(bool is_watch) {
  if (is_watch) {
    if (requests_.count(true) < kMaxWatches) co_return Result<>();
    co_return fail(Errc::kResourceExhausted, "this sandbox has " + std::to_string(kMaxWatches) +
                                                 " watches already: close one first");
  }
  const Clock::time_point deadline = Clock::now() + kSlotWait;
  boost::asio::steady_timer timer(connection_->io());
  while (requests_.count(false) >= kMaxFileRequests) {
    if (Clock::now() >= deadline) {
      co_return fail(Errc::kResourceExhausted, "too many file requests in this sandbox at once");
    }
    timer.expires_after(kSlotPoll);
    co_await timer.async_wait(boost::asio::use_awaitable);
    CO_TRY_OK(connection_->check_usable());
  }
  co_return Result<>();
}

Task<std::shared_ptr<PendingRequest>> SessionFiles::ask(wire::FileRequest file,
                                                        PendingRequest::Expects what,
                                                        Clock::time_point deadline) {
  CO_TRY_OK(connection_->check_usable());
  file.request = 1;
  CO_TRY_OK(check_file_frame(file));
  CO_TRY_OK(co_await wait_for_slot(waits_for_events(file.op)));
  CO_TRY(const std::shared_ptr<PendingRequest> request, requests_.open(what));
  file.request = request->number;
  request->way = wire::data_of(file.op);
  request->patient = waits_for_events(file.op);
  const wire::ServerFrame frame = std::move(file);
  connection_->send(frame);
  while (!request->opened && !request->done && !request->over && Clock::now() < deadline) {
    co_await request->wait(deadline);
  }
  if (request->opened || request->done) co_return request;
  requests_.close(request->number);
  if (request->over) co_return fail(*request->over);
  connection_->send(wire::AbandonFile{request->number});
  co_return fail(Errc::kTimeout, "the sandbox did not answer in time");
}

Task<wire::FileDone> SessionFiles::run(wire::FileRequest request) {
  const auto self = shared_from_this();
  CO_TRY(const std::shared_ptr<PendingRequest> asked,
         co_await ask(std::move(request), PendingRequest::Expects::kDone,
                      Clock::now() + kFileDoneWait));
  requests_.close(asked->number);
  if (asked->done->sys_errno != 0) co_return fail(helper_error(*asked->done));
  co_return std::move(*asked->done);
}

Task<std::unique_ptr<FileTransfer>> SessionFiles::transfer(wire::FileRequest request) {
  const auto self = shared_from_this();
  CO_TRY(const std::shared_ptr<PendingRequest> asked,
         co_await ask(std::move(request), PendingRequest::Expects::kPipe,
                      Clock::now() + connection_->options().request_wait));
  if (asked->opened) co_return std::make_unique<PipeTransfer>(self, asked);
  requests_.close(asked->number);
  if (asked->done->sys_errno != 0) co_return fail(helper_error(*asked->done));
  co_return fail(Errc::kProtocol, "the sandbox finished a file request without opening a pipe");
}

Task<UniqueFd> SessionFiles::connect_port(std::uint16_t port) {
  const auto self = shared_from_this();
  CO_TRY_OK(connection_->check_usable());
  if (port == 0) co_return fail(Errc::kInvalidArgument, "invalid port 0");
  CO_TRY(const std::shared_ptr<PendingRequest> request,
         requests_.open(PendingRequest::Expects::kPort));
  connection_->send(wire::ConnectPort{request->number, port});
  const Clock::time_point deadline = Clock::now() + kPortWait;
  while (!request->port && !request->port_refused && !request->over && Clock::now() < deadline) {
    co_await request->wait(deadline);
  }
  requests_.close(request->number);
  if (request->port) co_return std::move(request->port);
  if (request->over) co_return fail(*request->over);
  if (request->port_refused) co_return fail(guest_error(*request->port_refused, "connect"));
  co_return fail(Errc::kTimeout, "the sandbox did not connect in time");
}

Task<> SessionFiles::end_processes() {
  const auto self = shared_from_this();
  CO_TRY_OK(connection_->check_usable());
  CO_TRY(const std::shared_ptr<PendingRequest> request,
         requests_.open(PendingRequest::Expects::kDone));
  connection_->send(wire::EndProcesses{request->number});
  const Clock::time_point deadline = Clock::now() + kEndWait;
  while (!request->done && !request->over && Clock::now() < deadline) {
    co_await request->wait(deadline);
  }
  requests_.close(request->number);
  if (request->over) co_return fail(*request->over);
  if (!request->done) {
    co_return fail(Errc::kTimeout, "the processes of the sandbox did not end in time");
  }
  if (request->done->sys_errno != 0) co_return fail(helper_error(*request->done));
  co_return Result<>();
}

bool SessionFiles::takes(const wire::SessionFrame& frame) {
  return std::holds_alternative<wire::FileOpened>(frame) ||
         std::holds_alternative<wire::FileDone>(frame) ||
         std::holds_alternative<wire::PortConnected>(frame) ||
         std::holds_alternative<wire::PortRefused>(frame) || FramedStreams::takes(frame);
}

Result<> SessionFiles::on_frame(wire::SessionFrame frame, UniqueFd fd) {
  if (auto* opened = std::get_if<wire::FileOpened>(&frame)) {
    return on_opened(std::move(*opened), std::move(fd));
  }
  if (auto* done = std::get_if<wire::FileDone>(&frame)) return requests_.on(std::move(*done));
  if (auto* port = std::get_if<wire::PortConnected>(&frame)) {
    return on_connected(*port, std::move(fd));
  }
  if (auto* refused = std::get_if<wire::PortRefused>(&frame)) return requests_.on(*refused);
  if (!is_framed()) return fail(Errc::kProtocol, "a stream in frames");
  return streams_->on_frame(frame);
}

Result<> SessionFiles::on_opened(wire::FileOpened opened, UniqueFd pipe) {
  if (!is_framed()) return requests_.on(std::move(opened), std::move(pipe));
  TRY(const std::shared_ptr<PendingRequest> request, requests_.expect_pipe(opened.request));
  if (!request) return {};
  if (auto ours = streams_->open(opened.request, request->way)) {
    PendingRequests::take_pipe(*request, std::move(opened.entry), std::move(*ours));
  } else {
    connection_->send(wire::AbandonFile{opened.request});
    PendingRequests::give_up(*request, std::move(ours.error()));
  }
  return {};
}

Result<> SessionFiles::on_connected(const wire::PortConnected& connected, UniqueFd socket) {
  if (!is_framed()) return requests_.on(std::move(socket), connected.request);
  TRY(const std::shared_ptr<PendingRequest> request, requests_.expect_port(connected.request));
  Result<UniqueFd> ours = fail(Errc::kUnavailable, "the request was given up");
  if (request) ours = streams_->open_port(connected.request);
  if (!ours) connection_->send(wire::AbandonFile{connected.request});
  if (request && ours) PendingRequests::take_port(*request, std::move(*ours));
  if (request && !ours) PendingRequests::give_up(*request, std::move(ours.error()));
  return {};
}

void SessionFiles::commit(wire::RequestNumber number) {
  if (!streams_->commit_later(number)) connection_->send(wire::CommitFile{number});
}

void SessionFiles::close_request(wire::RequestNumber number) {
  requests_.close(number);
  streams_->drop(number);
}

}  // namespace glovebox::node
