// A session of this host: its sandbox and the life of the connection to its agent, from the
// handshake to the end. What is asked of processes (SessionProcesses) and of files and ports
// (SessionFiles) is passed on to those two, as are the agent's frames.
//
// Held by shared_ptr. The sandbox outlives this object; it ends only when destroy() is called or by
// itself. One thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/async/notifier.h"
#include "node/node_options.h"
#include "node/sandboxes/sandbox.h"
#include "node/sessions/session_connection.h"
#include "node/sessions/session_files.h"
#include "node/sessions/session_link.h"
#include "node/sessions/session_processes.h"
#include "node/sessions/session_service.h"

namespace glovebox::node {

class LiveSession final : public Session,
                          public std::enable_shared_from_this<LiveSession>,
                          private SessionLink::Listener {
 public:
  // Called once, later than the call that caused the end, unless disconnect() comes first.
  using Ended = std::function<void(const SessionEnded&)>;
  // `io` and `options` outlive this object.
  LiveSession(boost::asio::io_context& io, const NodeOptions& options,
              std::unique_ptr<Sandbox> sandbox, std::string template_name);
  ~LiveSession() override;
  void on_ended(Ended call) { on_ended_ = std::move(call); }

  // Sends Hello and waits for Welcome. Afterwards every process of the session is known.
  using Origin = SessionLink::Origin;
  Task<> handshake(Origin origin);
  bool is_ready() const { return connection_->is_ready(); }
  void set_paused(bool paused) { paused_ = paused; }
  // Ends the sandbox; on_ended() is called as for every end.
  void destroy(bool was_asked, std::string why);
  bool ended() const { return ended_; }
  Notifier& notifier() { return notifier_; }  // notifies when it is ready, and when it has ended
  // The server stops, and the sandbox lives on.
  void disconnect(const std::string& why);

  const SandboxId& id() const override { return id_; }
  const WallSet& walls() const override { return walls_; }
  const std::string& template_name() const override { return template_name_; }
  bool alive() const override { return !connection_->is_over(); }
  bool paused() const override { return paused_; }
  void set_owner(const std::string& project) override {
    if (sandbox_ && !sandbox_->charge().has_owner()) sandbox_->charge().give_to(project);
  }

  Task<Started> start(ProcessSpec spec, Attach attach) override {
    return processes_->start(std::move(spec), attach);
  }
  std::vector<ProcessInfo> processes() const override { return processes_->all(); }
  std::optional<ProcessInfo> find_process(wire::ProcessNumber number) const override {
    return processes_->find(number);
  }
  Task<std::unique_ptr<Attachment>> attach(wire::ProcessNumber number, AttachFrom from) override {
    return processes_->attach(number, from);
  }
  Task<> write_input(wire::ProcessNumber number, wire::Stream stream, std::string bytes) override {
    return processes_->write_input(number, stream, std::move(bytes));
  }
  Task<> close_input(wire::ProcessNumber number, wire::Stream stream) override {
    return processes_->close_input(number, stream);
  }
  Result<> signal(wire::ProcessNumber number, int signal, bool group) override {
    return processes_->signal(number, signal, group);
  }
  Result<> resize(wire::ProcessNumber number, TerminalSize size) override {
    return processes_->resize(number, size);
  }
  Result<> set_lossy(wire::ProcessNumber number, bool lossy) override {
    return processes_->set_lossy(number, lossy);
  }
  Result<> forget(wire::ProcessNumber number) override { return processes_->forget(number); }
  Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber number,
                                   Clock::time_point deadline) override {
    return processes_->wait_exit(number, deadline);
  }
  Task<wire::FileDone> file(wire::FileRequest request) override {
    return files_->run(std::move(request));
  }
  Task<std::unique_ptr<FileTransfer>> transfer(wire::FileRequest request) override {
    return files_->transfer(std::move(request));
  }
  Task<UniqueFd> connect_port(std::uint16_t port) override { return files_->connect_port(port); }
  Task<> end_processes() override;
  void abandon_processes(const Error& why) override { processes_->abandon_running(why); }

 private:
  using ProcessStatuses = std::map<wire::ProcessNumber, wire::ProcessStatus>;

  Result<> on_frame(wire::SessionFrame frame, UniqueFd fd) override;
  void on_room() override { processes_->on_room(); }
  std::optional<wire::ServerFrame> next_stream_frame() override {
    return files_->next_stream_frame();
  }
  void on_link_over(Error why) override;
  Result<> on_handshake_frame(wire::SessionFrame& frame);
  wire::Carrier wanted_carrier() const;
  void sandbox_changed();
  void report_end();
  void end_requests(Error why);
  void end_requests(std::string why) { end_requests(Error(Errc::kUnavailable, std::move(why))); }

  boost::asio::io_context& io_;
  const NodeOptions& options_;
  SandboxId id_;
  WallSet walls_;
  std::string template_name_;
  std::unique_ptr<Sandbox> sandbox_;  // null: it has ended, or we are disconnected from it
  std::shared_ptr<SessionConnection> connection_;
  std::shared_ptr<SessionProcesses> processes_;
  std::shared_ptr<SessionFiles> files_;
  std::uint64_t epoch_ = 0;
  std::optional<ProcessStatuses> handshake_;  // under way: the processes reported so far
  bool paused_ = false;
  bool ended_ = false;
  bool was_asked_ = false;
  std::string why_;
  Notifier notifier_;
  boost::asio::steady_timer end_timer_;
  Ended on_ended_;
};

}  // namespace glovebox::node
