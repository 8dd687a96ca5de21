// The launcher's handle of a template's zygote: an interpreter in the template's nursery, without
// capabilities, that forks a child into each sandbox whose namespaces it is given.
//
// A zygote sends messages of one letter and a text. The template's modules run in it, so nothing it
// sends is trusted. The destructor kills it and leaves the waiting to PendingZygoteCleanup.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/root_builder.h"
#include "launcher/layers/layer_store.h"
#include "launcher/nursery/nursery.h"
#include "launcher/nursery/pending_zygote_cleanup.h"
#include "launcher/nursery/zygote_uids.h"
#include "model/template.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

class Zygote {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { kStarting, kReady, kFailed };

  struct StartOptions {
    Nursery& nursery;
    RootBuilder& files;
    Owner owner;            // the nursery's root, who sees the layers' files as its own
    std::uint32_t uid = 0;  // inside the nursery; zero where there is only one user
    ZygoteUids::Lease uid_lease;
    sys::Cgroup cgroup;              // bounds what the zygote uses while it imports
    PendingZygoteCleanup& cleanup;   // outlives the zygote
    std::vector<LayerRef> layers{};  // the template's; held while the zygote exists
  };
  // Returns while the zygote is still importing.
  static Result<Zygote> start(const Template& description, StartOptions options);
  Zygote(Zygote&&) noexcept = default;
  Zygote& operator=(Zygote&&) = delete;
  ~Zygote();

  State state() const { return state_; }
  const std::string& error() const { return error_; }  // why it failed
  std::uint32_t uid() const { return uid_; }
  // Whatever is made with this zygote's uid has to keep a copy.
  const ZygoteUids::Lease& uid_lease() const { return uid_lease_; }
  std::uint64_t forks() const { return forks_; }
  Clock::time_point started() const { return started_; }
  int socket() const { return socket_.get(); }
  int pidfd() const { return pidfd_.get(); }
  // Reads one message, or the end of the connection.
  void on_event();
  // Kills the zygote; error() is then `why`.
  void fail_with(std::string why);
  // Whether its modules have started processes. Meaningful only while pending is zero.
  bool has_other_processes() const;
  std::chrono::microseconds cpu_used() const;
  std::uint64_t memory_used() const { return cgroup_.firm_memory_bytes().value_or(0); }

  // Has it fork a child into a sandbox. `fds`: the namespaces, the cgroups' files and the runtime's
  // descriptors, in the order that zygote_module.cc expects.
  struct JoinOptions {
    std::size_t cgroups = 0;  // how many of the descriptors are cgroups' files
    bool change_user = false;
    bool landlock = false;  // whether the last descriptor is a ruleset
    bool hurry = false;     // the child does not rehearse: see CreateSandbox
    bool session = false;   // the child becomes the session's user instead of a run's guest
    // How many of the cgroups, counted from the last, only the child itself joins: those may be
    // throttled, and the zygote must not be.
    std::size_t throttling_cgroups = 0;
  };
  Result<> join(std::span<const int> fds, const JoinOptions& options);
  // Sandboxes that are being made for this zygote, or whose child is not ready yet.
  std::uint32_t pending = 0;

 private:
  Zygote(UniqueFd socket, UniqueFd pidfd, StartOptions options)
      : cleanup_(options.cleanup),
        cgroup_(std::move(options.cgroup)),
        socket_(std::move(socket)),
        pidfd_(std::move(pidfd)),
        uid_(options.uid),
        uid_lease_(std::move(options.uid_lease)),
        layers_(std::move(options.layers)) {}
  void on_ready();

  PendingZygoteCleanup& cleanup_;
  sys::Cgroup cgroup_;
  UniqueFd socket_;
  UniqueFd pidfd_;
  std::uint32_t uid_ = 0;
  ZygoteUids::Lease uid_lease_;
  std::vector<LayerRef> layers_;
  std::uint64_t forks_ = 0;
  Clock::time_point started_ = Clock::now();
  State state_ = State::kStarting;
  std::string error_;
  unsigned failed_joins_ = 0;
  unsigned failed_session_joins_ = 0;
};

}  // namespace glovebox::launcher
