// One run on this host, from the request to the report: a sandbox that was never used before, taken
// from a pool or made, files in, code or a program with live streams, files out, the sandbox gone.
// Single-threaded: everything here lives on the server's one io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guest_path.h"
#include "base/task.h"
#include "model/outcome.h"
#include "model/sandbox_spec.h"
#include "net/net_policy.h"
#include "wire/guest/job.h"
#include "wire/launcher/launcher_messages.h"
#include "wire/network/network_json.h"

namespace glovebox::node {

struct InputFile {
  GuestPath path;
  std::string content;
  std::uint32_t mode = 0644;
  // Instead of the content, if it is the same for many runs.
  std::shared_ptr<const std::string> shared{};

  const std::string& bytes() const { return shared ? *shared : content; }
};

struct RunJob {
  std::string template_name;
  EngineKind engine = EngineKind::kJail;
  Limits limits;
  std::vector<wire::MountRequest> mounts;  // entries of the administrator's list, by name
  // Exactly one of the two: code for the template's runtime, or a program.
  std::optional<wire::Job> job;
  std::optional<ExecSpec> exec;
  bool cold = false;  // a fresh interpreter, not forked from a zygote
  // Its template is made of an image, whose interpreters are searched on the PATH. `user` is the
  // image's USER, for an interpreter that is started; one that waits is always the usual user's.
  bool image = false;
  std::string user;
  std::string stdin_bytes;
  std::vector<InputFile> files;
  std::vector<std::string> return_files;  // absolute patterns
  std::uint64_t return_bytes_limit = 16u << 20;
  std::uint64_t output_limit = 1u << 20;  // both streams together; more is dropped and said
  std::optional<Grade> min_grade;
  // For fairness and for per-caller limits: runs of one owner queue behind each other, not before
  // another's.
  std::string owner;
  std::string project;  // for mounts that are for some projects only
  net::NetPolicy net;   // what it may reach
  // Its sandbox may have served earlier runs with the same text here, and may serve later ones.
  // Empty: it is never used again.
  std::string reuse;
  // Its interpreter may have served earlier runs and may serve later ones, all with the same `job`;
  // what is this run's alone is the record of wire/guest/job.h, in place of `stdin_bytes`.
  bool shares_interpreter = false;
  std::string call;
};

struct OutputFile {
  std::string path;
  std::string content;
};

struct RunReport {
  Outcome outcome;    // out and err are empty: the sink had them
  bool warm = false;  // the code ran in an interpreter that was waiting
  // How many runs this sandbox had served before; nothing: it is used once.
  std::optional<std::uint32_t> reused;
  std::vector<std::string> results;  // JSON lines of the runtime, bounded, not yet parsed
  bool results_truncated = false;
  std::vector<OutputFile> files;
  bool files_truncated = false;
  std::string files_error;  // why a file could not be fetched
  std::string sandbox;      // its id
  bool cancelled = false;
  std::chrono::microseconds queued{0};          // until there was a sandbox
  std::optional<wire::NetworkFigures> network;  // nothing: it had none
};

// Where a run's output goes while it runs. Awaited: a slow reader slows the guest, not the server.
// False ends the run: the reader is gone.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual boost::asio::awaitable<bool> on_output(bool is_stderr, std::string_view bytes) = 0;
  virtual boost::asio::awaitable<bool> on_result(std::string_view json_line) = 0;

  // Whether any of the caller's code may have run. Set by the node before it can, and cleared when
  // it certainly has not: after an error this tells a refusal from an interruption.
  bool may_have_run() const { return may_have_run_; }
  void set_may_have_run(bool may) { may_have_run_ = may; }

 private:
  bool may_have_run_ = false;
};

// Set when the client no longer waits for the run.
class CancelFlag {
 public:
  void cancel() {
    cancelled_ = true;
    if (on_cancel_) on_cancel_();
  }
  bool cancelled() const { return cancelled_; }
  void on_cancel(std::function<void()> call) { on_cancel_ = std::move(call); }

 private:
  bool cancelled_ = false;
  std::function<void()> on_cancel_;
};

}  // namespace glovebox::node
