// The connection to a session's agent, as the parts of a session share it: whether requests can be
// made, why not, and what is sent. One thread. Held by shared_ptr: attachments and transfers may
// outlive the session.
#pragma once

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "node/node_options.h"
#include "node/sessions/session_link.h"
#include "wire/guest/session_frames.h"

namespace glovebox::node {

class SessionConnection {
 public:
  // `listener` outlives the link: its owner calls close().
  SessionConnection(boost::asio::io_context& io, const NodeOptions& options,
                    SessionLink::Listener& listener, UniqueFd socket)
      : io_(io), options_(options), link_(io, listener, std::move(socket)) {}

  boost::asio::io_context& io() { return io_; }
  const NodeOptions& options() const { return options_; }

  bool is_byte_stream() const { return link_.is_byte_stream(); }
  void begin(std::uint64_t epoch, SessionLink::Origin origin) { link_.begin(epoch, origin); }
  void close() { link_.close(); }
  void send(const wire::ServerFrame& frame) {
    if (!end_reason_) link_.send(frame);
  }
  void send_streams_soon() { link_.send_streams_soon(); }
  bool has_room() const { return link_.has_room(); }
  bool all_sent() const { return link_.all_sent(); }

  // The agent has answered our Hello.
  bool is_ready() const { return ready_; }
  void set_ready(wire::Carrier carrier) {
    ready_ = true;
    carrier_ = carrier;
    link_.set_carrier(carrier);
  }
  wire::Carrier carrier() const { return carrier_; }

  // No more requests, for this reason. False: that was so already.
  bool end(Error reason);
  bool is_over() const { return end_reason_.has_value(); }
  // kUnavailable.
  Error over_error() const;

  // kUnavailable: the session is over; kConflict: it is paused; kResourceExhausted: the agent does
  // not read what it is sent.
  Result<> check_usable() const;

 private:
  boost::asio::io_context& io_;
  const NodeOptions& options_;
  SessionLink link_;
  bool ready_ = false;
  wire::Carrier carrier_ = wire::Carrier::kDescriptors;
  std::optional<Error> end_reason_;
};

}  // namespace glovebox::node
