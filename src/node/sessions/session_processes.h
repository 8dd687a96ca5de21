// The processes of one session: starting, reading, writing, signalling and waiting for them, and
// what the agent reports about them. Output is read by at most one reader per process; without one
// the agent keeps it for a grace period and then drops the oldest.
//
// Held by shared_ptr: calls and attachments under way keep it. Calls to a session that is over fail
// with kUnavailable. A protocol error of the agent is returned by on_frame() and ends the session.
// One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/sessions/process_state.h"
#include "node/sessions/session_connection.h"
#include "node/sessions/session_service.h"

namespace glovebox::node {

class SessionProcesses : public std::enable_shared_from_this<SessionProcesses> {
 public:
  static constexpr std::size_t kMaxProcesses = 1024;  // ended ones included
  static constexpr std::size_t kMaxReaders = 128;

  explicit SessionProcesses(std::shared_ptr<SessionConnection> connection)
      : connection_(std::move(connection)) {}

  // As in Session.
  Task<Session::Started> start(ProcessSpec spec, Session::Attach attach);
  std::vector<ProcessInfo> all() const;
  std::optional<ProcessInfo> find(wire::ProcessNumber number) const;
  Task<std::unique_ptr<Attachment>> attach(wire::ProcessNumber number, AttachFrom from);
  Task<> write_input(wire::ProcessNumber number, wire::Stream stream, std::string bytes);
  Task<> close_input(wire::ProcessNumber number, wire::Stream stream);
  Result<> signal(wire::ProcessNumber number, int signal, bool group);
  Result<> resize(wire::ProcessNumber number, TerminalSize size);
  Result<> set_lossy(wire::ProcessNumber number, bool lossy);
  Result<> forget(wire::ProcessNumber number);
  Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber number, Clock::time_point deadline);

  // Of a session that a server before us used: new processes get numbers above all of its.
  void skip_used_numbers();
  void adopt(std::map<wire::ProcessNumber, wire::ProcessStatus> found);
  // The frames that on_frame() is for.
  static bool takes(const wire::SessionFrame& frame);
  Result<> on_frame(wire::SessionFrame frame);
  void on_room();  // more can be sent
  void end_all(const std::string& why);
  // Calls that wait for a process end with this error; what the agent says of it later is ignored.
  void abandon_running(const Error& why);

  // For attachments.
  void acknowledge(const std::vector<wire::Acknowledge>& received);
  void detach(const std::shared_ptr<Process>& process, const std::shared_ptr<Reader>& reader);

 private:
  using ProcessPtr = std::shared_ptr<Process>;

  Result<> on(wire::ProcessStarted& started);
  Result<> on(wire::StartRefused& refused);
  Result<> on(wire::Output& output);
  Result<> on(wire::InputTaken& taken);
  Result<> on(wire::ProcessExited& exited);
  // Of a frame. Null: it is forgotten, and the frame was under way meanwhile.
  Result<ProcessPtr> process_of_frame(wire::ProcessNumber number) const;

  Result<ProcessPtr> require(wire::ProcessNumber number) const;
  Result<> make_space();
  Result<> check_attachable() const;
  std::shared_ptr<Reader> add_reader(const ProcessPtr& process);
  void begin_grace(const ProcessPtr& process);
  Result<> check_input(const Process& process, const InputState& input) const;

  std::shared_ptr<SessionConnection> connection_;
  std::map<wire::ProcessNumber, ProcessPtr> processes_;
  wire::ProcessNumber next_number_ = 1;
  // Output that was still under way to readers that have left; more than that is a protocol error.
  std::uint64_t under_way_ = 0;
};

}  // namespace glovebox::node
