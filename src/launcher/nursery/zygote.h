// A template's zygote, as the launcher holds it: an interpreter in the template's nursery, without
// capabilities, that forks itself into the sandboxes it is shown. What it says is a letter and a
// text; a template's modules run in it, so it is believed nothing.
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
#include "launcher/layers/layer_store.h"
#include "launcher/nursery/nursery.h"
#include "launcher/nursery/pending_zygote_cleanup.h"
#include "launcher/jail/root_builder.h"
#include "launcher/nursery/zygote_uids.h"
#include "model/template.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

class Zygote {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State { kStarting, kReady, kFailed };

  struct Place {
    Nursery& nursery;
    RootBuilder& files;
    Owner owner;                      // of the nursery: its root sees the layers' files as its own
    std::uint32_t uid = 0;            // in the nursery's numbers; zero where there is only one user
    ZygoteUids::Held held;            // keeps the number from others
    sys::Cgroup cgroup;               // bounds what it imports
    Remains& remains;                 // sees to what is left of it; lives longer
    std::vector<LayerHeld> layers{};  // of its template; they stay while it is there
  };
  // Returns while it is still importing.
  static Result<Zygote> start(const Template& description, Place place);
  Zygote(Zygote&&) noexcept = default;
  Zygote& operator=(Zygote&&) = delete;
  ~Zygote();

  State state() const { return state_; }
  const std::string& error() const { return error_; }  // why it failed
  std::uint32_t uid() const { return uid_; }
  // To be kept by whatever is made with this zygote's user.
  const ZygoteUids::Held& held() const { return held_; }
  std::uint64_t forks() const { return forks_; }
  Clock::time_point started() const { return started_; }
  int socket() const { return socket_.get(); }
  int pidfd() const { return pidfd_.get(); }
  // Reads one thing that it says, or that it is gone.
  void on_event();
  void is_late(const std::string& why) { fail_with(why); }
  // Whether its modules have processes beside it. Only while none of its children is on its way.
  bool has_company() const;
  std::chrono::microseconds cpu_used() const;
  std::uint64_t memory_used() const { return cgroup_.firm_memory_bytes().value_or(0); }

  // Shows it a sandbox. `fds` as SandboxSealed and the cgroups' files come: see zygote_module.cc.
  struct JoinWords {
    std::size_t cgroups = 0;  // how many of the descriptors are cgroups' files
    bool change_user = false;
    bool landlock = false;  // whether the last descriptor is a ruleset
    bool hurry = false;     // others wait
    // Into a session: sealed as its user and not as a run's guest.
    bool session = false;
    std::size_t slowing = 0;  // how many of the cgroups, the last, only its child enters
  };
  Result<> join(std::span<const int> fds, const JoinWords& words);
  // Sandboxes that are being made for it, or that it was shown and in which its child is not ready.
  std::uint32_t pending = 0;

 private:
  Zygote(UniqueFd socket, UniqueFd pidfd, Place place)
      : remains_(place.remains),
        cgroup_(std::move(place.cgroup)),
        socket_(std::move(socket)),
        pidfd_(std::move(pidfd)),
        uid_(place.uid),
        held_(std::move(place.held)),
        layers_(std::move(place.layers)) {}
  void on_ready();
  void fail_with(std::string why);

  Remains& remains_;
  sys::Cgroup cgroup_;
  UniqueFd socket_;
  UniqueFd pidfd_;
  std::uint32_t uid_ = 0;
  ZygoteUids::Held held_;
  std::vector<LayerHeld> layers_;
  std::uint64_t forks_ = 0;
  Clock::time_point started_ = Clock::now();
  State state_ = State::kStarting;
  std::string error_;
  unsigned complaints_ = 0;
  unsigned session_complaints_ = 0;
};

}  // namespace glovebox::launcher
