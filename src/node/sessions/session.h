// A session that is there: its sandbox, its socket, its processes and what is asked of it. One
// thread. It lives as long as somebody holds it, and is good for something as long as its sandbox
// lives; the sandbox is not ended with this object, but only when somebody says so.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/async/notifier.h"
#include "node/node_options.h"
#include "node/sandboxes/sandbox.h"
#include "node/sessions/session_link.h"
#include "node/sessions/session_process.h"
#include "node/sessions/session_requests.h"
#include "node/sessions/session_service.h"

namespace glovebox::node {

class LiveSession final : public Session,
                          public std::enable_shared_from_this<LiveSession>,
                          private SessionLink::Listener {
 public:
  static constexpr std::size_t kMaxProcesses = 1024;  // also of those that have ended
  static constexpr std::size_t kMaxReaders = 128;

  struct Place {
    boost::asio::io_context& io;
    const NodeOptions& options;
  };
  // `ended` is called once, later than the call that caused it, unless let_go() comes first.
  using Ended = std::function<void(const SessionEnded&)>;
  LiveSession(Place place, std::unique_ptr<Sandbox> sandbox, std::string template_name);
  ~LiveSession() override;
  void on_ended(Ended call) { on_ended_ = std::move(call); }

  // Hello, until Welcome: then it knows of every process there is.
  enum class Made : bool { kNew, kBefore };
  Task<> greet(Made made);
  bool greeted() const { return greeted_; }
  void set_paused(bool paused) { paused_ = paused; }
  // Has the sandbox ended; what becomes of it is told as of every end.
  void destroy(bool was_asked, std::string why);
  bool ended() const { return ended_; }
  Bell& bell() { return bell_; }  // rings when it is greeted, and when it has ended
  // The server goes, and the sandbox stays.
  void let_go(const std::string& why);

  const SandboxId& id() const override { return id_; }
  const WallSet& walls() const override { return walls_; }
  const std::string& template_name() const override { return template_name_; }
  bool alive() const override { return !over_; }
  bool paused() const override { return paused_; }

  // session_processes.cc
  Task<Started> start(ProcessSpec spec, Attach attach) override;
  std::vector<ProcessInfo> processes() const override;
  std::optional<ProcessInfo> find_process(wire::ProcessNumber number) const override;
  Task<std::unique_ptr<Attachment>> attach(wire::ProcessNumber number, AttachFrom from) override;
  Task<> write_input(wire::ProcessNumber number, wire::Stream stream, std::string bytes) override;
  Task<> close_input(wire::ProcessNumber number, wire::Stream stream) override;
  Result<> signal(wire::ProcessNumber number, int signal, bool group) override;
  Result<> resize(wire::ProcessNumber number, TerminalSize size) override;
  Result<> set_lossy(wire::ProcessNumber number, bool lossy) override;
  Result<> forget(wire::ProcessNumber number) override;
  Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber number, Clock::time_point deadline) override;

  // session_files.cc
  Task<wire::FileDone> file(wire::FileRequest request) override;
  Task<std::unique_ptr<FileTransfer>> transfer(wire::FileRequest request) override;
  Task<UniqueFd> connect_port(std::uint16_t port) override;

  // For attachments and transfers.
  void acknowledge(const std::vector<wire::Acknowledge>& told);
  void detach(const std::shared_ptr<Process>& process, const std::shared_ptr<Reader>& reader);
  void send(const wire::ServerFrame& frame);
  void close_request(wire::RequestNumber number) { requests_.close(number); }

 private:
  using ProcessPtr = std::shared_ptr<Process>;

  // session.cc: what the sandbox says.
  Result<> on_frame(wire::SessionFrame frame, UniqueFd fd) override;
  void on_room() override;
  void on_link_over(Error why) override;
  Result<> on(wire::ProcessIs& is);
  Result<> on(wire::Welcome& welcome);
  Result<> on(wire::ProcessStarted& started);
  Result<> on(wire::StartRefused& refused);
  Result<> on(wire::Output& output);
  Result<> on(wire::InputTaken& taken);
  Result<> on(wire::ProcessExited& exited);
  Result<ProcessPtr> told_of(wire::ProcessNumber number) const;
  void take_over(std::map<wire::ProcessNumber, wire::ProcessIs> found);
  void sandbox_changed();
  void report_end();
  void end_callers(const std::string& why);

  // For those who ask.
  Result<> usable() const;
  Result<ProcessPtr> find(wire::ProcessNumber number) const;
  Result<> make_space();
  Result<> check_attachable() const;
  std::shared_ptr<Reader> give_reader(const ProcessPtr& process);
  void begin_grace(const ProcessPtr& process);
  Result<> check_input(const Process& process, const InputState& input) const;
  Error over_error() const;
  Clock::time_point until(std::chrono::milliseconds time) const { return Clock::now() + time; }
  Task<> take_turn(bool watch);
  Task<std::shared_ptr<Request>> ask(wire::FileRequest request, Request::Expects what,
                                     Clock::time_point deadline);

  Place place_;
  SandboxId id_;
  WallSet walls_;
  std::string template_name_;
  std::unique_ptr<Sandbox> sandbox_;  // null: it has ended, or we have let go of it
  SessionLink link_;
  Requests requests_;
  std::map<wire::ProcessNumber, ProcessPtr> processes_;
  wire::ProcessNumber next_process_ = 1;
  std::uint64_t epoch_ = 0;
  std::optional<std::map<wire::ProcessNumber, wire::ProcessIs>> greeting_;
  bool greeted_ = false;
  bool paused_ = false;
  std::optional<std::string> over_;  // why nothing can be asked of it any more
  bool ended_ = false;
  bool was_asked_ = false;
  std::string why_;
  // Output that was still under way to somebody who had left; more than that is not asked for.
  std::uint64_t under_way_ = 0;
  Bell bell_;
  boost::asio::steady_timer end_timer_;
  Ended on_ended_;
};

// A process's output, for its reader.
std::unique_ptr<Attachment> make_attachment(std::shared_ptr<LiveSession> session,
                                            std::shared_ptr<Process> process,
                                            std::shared_ptr<Reader> reader);
std::unique_ptr<FileTransfer> make_transfer(std::shared_ptr<LiveSession> session,
                                            std::shared_ptr<Request> request);

}  // namespace glovebox::node
