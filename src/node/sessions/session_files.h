// Requests to one session's agent that have an answer: files, ports, the end of all processes. A
// small request is one call (run()); what is large goes through a pipe whose end the agent sends
// (transfer()), straight into and out of the caller's buffer; or through one of our own, where
// frames carry it (FramedStreams).
//
// Held by shared_ptr: transfers and calls under way keep it. Errors have the errno of the agent's
// helper process; calls to a session that is over fail with kUnavailable. One thread.
#pragma once

#include <memory>

#include "node/sessions/framed_streams.h"
#include "node/sessions/pending_requests.h"
#include "node/sessions/session_connection.h"
#include "node/sessions/session_service.h"

namespace glovebox::node {

class SessionFiles : public std::enable_shared_from_this<SessionFiles> {
 public:
  explicit SessionFiles(std::shared_ptr<SessionConnection> connection)
      : connection_(std::move(connection)),
        requests_(connection_->io()),
        streams_(std::make_shared<FramedStreams>(connection_)) {}

  // As Session::file(), transfer() and connect_port().
  Task<wire::FileDone> run(wire::FileRequest request);
  Task<std::unique_ptr<FileTransfer>> transfer(wire::FileRequest request);
  Task<UniqueFd> connect_port(std::uint16_t port);
  // Until the agent says that no process is left.
  Task<> end_processes();

  // The frames that on_frame() is for.
  static bool takes(const wire::SessionFrame& frame);
  Result<> on_frame(wire::SessionFrame frame, UniqueFd fd);
  std::optional<wire::ServerFrame> next_stream_frame() { return streams_->next_frame(); }
  void end_all(const Error& why) {
    requests_.end_all(why);
    streams_->end_all();
  }

  // For transfers.
  void send(const wire::ServerFrame& frame) { connection_->send(frame); }
  // After all that was written into the transfer's pipe, which is closed.
  void commit(wire::RequestNumber number);
  void close_request(wire::RequestNumber number);

 private:
  Task<> wait_for_slot(bool is_watch);
  // Until the request is opened, done or over; the caller looks which.
  Task<std::shared_ptr<PendingRequest>> ask(wire::FileRequest request, PendingRequest::Expects what,
                                            Clock::time_point deadline);

  bool is_framed() const { return connection_->carrier() == wire::Carrier::kFrames; }
  Result<> on_opened(wire::FileOpened opened, UniqueFd pipe);
  Result<> on_connected(const wire::PortConnected& connected, UniqueFd socket);

  std::shared_ptr<SessionConnection> connection_;
  PendingRequests requests_;
  std::shared_ptr<FramedStreams> streams_;
};

}  // namespace glovebox::node
