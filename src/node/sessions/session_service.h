// Persistent sandboxes (sessions) of this host, as the layers above see them: processes, files and
// ports of a sandbox that lives on. Records, times to live and projects are kept by the caller.
// Everything lives on the server's one io_context; there are no locks.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/task.h"
#include "base/unique_fd.h"
#include "model/outcome.h"
#include "model/sandbox_spec.h"
#include "net/net_policy.h"
#include "node/runs/run_job.h"
#include "wire/guest/session_frames.h"

namespace glovebox::node {

struct SessionSpec {
  std::string template_name;
  EngineKind engine = EngineKind::kJail;
  Limits limits;  // the wall-clock limit does not apply
  std::vector<wire::MountRequest> mounts;
  std::optional<Grade> min_grade;
  bool must_pause = false;  // refused where sessions cannot be paused
  std::string owner;        // for fairness and shares, as RunJob's
  std::string project;
  net::NetPolicy net;  // what it may reach at first
  // Packages or an image are fetched in it: `net` allows the administrator's index or registry
  // (config/package_index.h, config/image_registries.h), whose names may resolve to any address.
  bool is_build = false;
  // The layer that is mounted at kLayerMountPoint; empty: none. `make_layer`: a new one.
  std::string layer{};
  bool make_layer = false;
};

struct ProcessSpec {
  wire::ProcessKind kind = wire::ProcessKind::kProgram;
  ExecSpec exec;
  std::string user = "user";
  std::string label;
  bool has_stdin = false;
  bool lossy = false;  // without a reader: drop the oldest output rather than stop
};

struct ProcessInfo {
  wire::ProcessNumber number = 0;
  wire::ProcessKind kind = wire::ProcessKind::kProgram;
  std::uint32_t pid = 0;
  std::string label;
  bool warm = false;
  bool terminal = false;
  bool attached = false;
  std::uint64_t started_ms = 0;
  wire::StreamState out, err, results;  // as far as is known
  std::optional<wire::ProcessEnd> ended;
};

// The one reader of a process's output, with backpressure: output arrives as fast as next() asks
// for it. A new reader takes over, and the old one gets Gone.
class Attachment {
 public:
  struct Chunk {
    wire::Stream stream = wire::Stream::kStdout;
    std::uint64_t offset = 0;
    std::string bytes;
    std::uint64_t out_before = 0;  // of kResults: what was printed before
    std::uint64_t err_before = 0;
  };
  struct Lost {  // was printed, and is no longer kept
    wire::Stream stream = wire::Stream::kStdout;
    std::uint64_t bytes = 0;
  };
  struct Exited {  // after its last chunk
    wire::ProcessEnd end;
  };
  struct Gone {  // no more will come: the session ended, or another reader took over
    std::string why;
    bool taken_over = false;
  };
  struct Nothing {};  // the deadline came first
  using Event = std::variant<Chunk, Lost, Exited, Gone, Nothing>;

  virtual ~Attachment() = default;  // the process goes on
  virtual wire::ProcessNumber process() const = 0;
  // Also acknowledges what the previous call returned. One call at a time.
  virtual boost::asio::awaitable<Event> next(std::chrono::steady_clock::time_point deadline =
                                                 std::chrono::steady_clock::time_point::max()) = 0;
  // Ends a next() under way with Gone.
  virtual void close() = 0;
};

// Each beyond what was printed: only what is new.
struct AttachFrom {
  static constexpr std::uint64_t kNow = UINT64_MAX;
  std::uint64_t out = 0;
  std::uint64_t err = 0;
  std::uint64_t results = 0;
};

// A file request whose bytes go through a pipe. Destroying it abandons the request.
class FileTransfer {
 public:
  virtual ~FileTransfer() = default;
  virtual const std::string& entry() const = 0;  // of kRead: a record (wire/guest/file_records.h)
  // For kRead, kList, kTarOut, kWatch, kSnapshotOut. Zero: the end, see done().
  virtual boost::asio::awaitable<std::size_t> read_some(char* into, std::size_t size) = 0;
  // For kWrite, kTarIn, kSnapshotIn. False: the helper no longer reads, see done().
  virtual boost::asio::awaitable<bool> write(std::string_view bytes) = 0;
  virtual void commit() = 0;
  // For kWatch: a kReady record follows the events of everything that has happened up to now.
  virtual void mark() {}
  // The result; an Error has the errno and the message of the helper process.
  virtual Task<wire::FileDone> done() = 0;
  virtual void close() = 0;  // ends whatever is under way
};

struct SessionUsage {
  // Nothing: no cgroup counts it here.
  std::optional<std::uint64_t> cpu_us;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> peak_memory_bytes;
  std::optional<std::uint32_t> processes;
  std::uint64_t disk_bytes = 0;
  std::uint64_t disk_limit_bytes = 0;
  std::uint32_t oom_kills = 0;
  std::uint64_t socket_bytes = 0;  // of the memory: buffers of sockets
};

// One session. Held by shared_ptr: calls to one that has ended fail with kUnavailable.
class Session {
 public:
  virtual ~Session() = default;
  virtual const SandboxId& id() const = 0;
  virtual const WallSet& walls() const = 0;
  virtual const std::string& template_name() const = 0;
  virtual bool alive() const = 0;
  virtual bool paused() const { return false; }
  // The launcher does not know whose an adopted session is: it counts for this project from now on.
  // One that has an owner keeps it.
  virtual void set_owner(const std::string& /*project*/) {}
  // Calls that still wait for a process end with this error: all processes have been ended, and no
  // more reports come from a frozen sandbox.
  virtual void abandon_processes(const Error& /*why*/) {}

  // With kYes the attachment reads from the first byte. Errors: kNotFound (no such
  // program, directory or user), kPermissionDenied, kResourceExhausted (no process to spare), ...
  struct Started {
    ProcessInfo info;
    std::unique_ptr<Attachment> attachment;
  };
  enum class Attach : bool { kNo, kYes };
  virtual Task<Started> start(ProcessSpec spec, Attach attach) = 0;
  virtual std::vector<ProcessInfo> processes() const = 0;
  virtual std::optional<ProcessInfo> find_process(wire::ProcessNumber number) const = 0;
  virtual Task<std::unique_ptr<Attachment>> attach(wire::ProcessNumber number, AttachFrom from) = 0;
  // Returns when the agent has taken all. kUnavailable: the process no longer reads it.
  virtual Task<> write_input(wire::ProcessNumber number, wire::Stream stream,
                             std::string bytes) = 0;
  virtual Task<> close_input(wire::ProcessNumber number, wire::Stream stream) = 0;
  virtual Result<> signal(wire::ProcessNumber number, int signal, bool group) = 0;
  virtual Result<> resize(wire::ProcessNumber number, TerminalSize size) = 0;
  virtual Result<> set_lossy(wire::ProcessNumber number, bool lossy) = 0;
  virtual Result<> forget(wire::ProcessNumber number) = 0;
  // kTimeout when the deadline comes first.
  virtual Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber number,
                                           std::chrono::steady_clock::time_point deadline) = 0;

  // For the operations without a pipe. The request's number is filled in here. An Error has the
  // helper's errno (sys_errno) and message.
  virtual Task<wire::FileDone> file(wire::FileRequest request) = 0;
  virtual Task<std::unique_ptr<FileTransfer>> transfer(wire::FileRequest request) = 0;

  // A connected (or connecting, non-blocking) stream socket in the sandbox's own network.
  virtual Task<UniqueFd> connect_port(std::uint16_t port) = 0;

  // Ends every process in the sandbox, as a restart of a machine does; its files stay. Returns when
  // none is left, and the ends of known ones were reported.
  virtual Task<> end_processes() = 0;
};

struct SessionEnded {
  SandboxId id;
  EndReason reason = EndReason::kExited;
  Usage usage;
  bool launcher_lost = false;  // it ended with the launcher
  bool was_asked = false;      // by destroy_session()
  std::string why;             // the reason, when the server itself ended it
};

class SessionService {
 public:
  virtual ~SessionService() = default;
  // A sandbox of its own, running. Errors as RunService::run's.
  virtual Task<std::shared_ptr<Session>> create_session(SessionSpec spec,
                                                        std::shared_ptr<CancelFlag> cancel) = 0;
  // Null: no session of this id is alive on this host.
  virtual std::shared_ptr<Session> find_session(const SandboxId& id) const = 0;
  virtual std::vector<SandboxId> sessions() const = 0;
  // Whether the sessions of a previous server have been adopted.
  virtual bool adopted() const = 0;

  virtual Task<> destroy_session(SandboxId id) = 0;
  virtual Task<> pause_session(SandboxId id) = 0;
  virtual Task<> resume_session(SandboxId id) = 0;
  virtual Task<SessionUsage> measure_session(SandboxId id) = 0;

  // Called once for every session that ends, however; and once when adoption is over.
  virtual void on_session_ended(std::function<void(const SessionEnded&)> call) = 0;
  virtual void on_adopted(std::function<void()> call) = 0;
};

}  // namespace glovebox::node
