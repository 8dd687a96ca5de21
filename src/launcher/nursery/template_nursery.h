// One template's nursery, its zygotes, and the state that clients are shown: idle, starting, ready,
// failed or removed.
//
// At most one zygote forks; a second one may be starting to replace it, and zygotes that were
// replaced stay until the sandboxes that wait for their children have them. A zygote that fails is
// replaced with growing delays. TemplateNurseries owns these objects and decides how many zygotes
// there may be; everything happens on the launcher's one thread.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/nursery/nursery.h"
#include "launcher/nursery/zygote.h"
#include "model/template.h"

namespace glovebox::launcher {

// When a zygote is replaced by a new one; zero: never.
struct ZygoteBounds {
  std::chrono::seconds max_age{3600};
  std::uint64_t max_forks = 50'000;
  // Memory of all zygotes of templates that servers defined, together; zero: a quarter of the
  // host's.
  std::uint64_t own_memory_bytes = 0;
};

class TemplateNursery {
 public:
  using Clock = std::chrono::steady_clock;
  // Starts a zygote in this template's nursery. kUnsupported: this host can never have one.
  using StartZygote = std::function<Result<Zygote>(TemplateNursery&)>;

  explicit TemplateNursery(StartZygote start_zygote) : start_zygote_(std::move(start_zygote)) {}
  TemplateNursery(const TemplateNursery&) = delete;
  TemplateNursery& operator=(const TemplateNursery&) = delete;

  // Sets the description of a new template, or changes it: what was started for the old one is
  // replaced.
  enum class Known : bool { kNew, kBefore };
  void set_description(Template description, Known known);
  const Template& description() const { return description_; }
  // The template is gone; sandboxes that exist may end in their own time.
  void remove();
  bool is_removed() const { return state_ == RuntimeState::kRemoved; }
  // Whether nothing is left of a removed template and its clients were told.
  bool is_gone() const { return is_removed() && !changed_ && retiring_.empty() && !nursery_; }

  // Changes whenever nothing that was made before may be handed out any more.
  std::uint32_t generation() const { return generation_; }
  RuntimeState state() const { return state_; }
  TemplateStatus status() const;
  // Whether the status has changed since the last call.
  bool take_changed() { return std::exchange(changed_, false); }

  // Starts what warm sandboxes need, unless it is there or on its way. An error if the zygote
  // cannot be started; it is then tried again later.
  Result<> prepare();
  Result<> start();
  // The zygote that forks now, if it is ready.
  Zygote* ready_zygote();
  // A zygote by its uid, also one that is retiring.
  Zygote* find_zygote(std::uint32_t uid);
  // A child of this zygote is in its sandbox, or will never be.
  void join_finished(std::uint32_t zygote_uid);
  // A runtime has arrived in its sandbox.
  void runtime_arrived() { last_arrival_ = Clock::now(); }
  Clock::time_point last_arrival() const { return last_arrival_; }
  // Ends the zygote that forks now, with a reason. With a uid: only if it is that one.
  void fail_zygote(const std::string& why);
  void fail_zygote(std::uint32_t uid, const std::string& why);

  std::optional<Nursery>& nursery() { return nursery_; }
  const std::optional<Nursery>& nursery() const { return nursery_; }
  // The broker has died, and with it every zygote and sandbox in the nursery.
  void nursery_died();
  // The files below the zygote have changed: a new one has to be started.
  void retire_zygotes();
  // Ends everything without replacing it.
  void stop();

  void add_events(std::vector<pollfd>& events) const;
  // Reads what the zygotes sent and brings the state up to date.
  void on_events(Clock::time_point now);
  // Whether a zygote should be started now: none is there, or it is too old.
  bool needs_zygote(const ZygoteBounds& bounds, Clock::time_point now) const;
  bool is_requested() const { return requested_; }
  bool is_starting_zygote() const { return next_.has_value(); }
  bool has_zygote() const { return zygote_ || next_; }
  Clock::time_point last_requested() const { return last_requested_; }
  std::uint64_t memory_used() const;

  // For templates that servers defined: ends a zygote that has long been idle or whose modules
  // misbehave, and the nursery when no sandbox is in it.
  void tidy(Clock::time_point now, bool in_use);
  // Ends the zygotes until the template is requested again.
  void suspend();
  // The same, with an error to show and a delay before the next start.
  void suspend_for(std::chrono::seconds delay, std::string why);

 private:
  // What the zygote looked like at the last check.
  struct Sample {
    Clock::time_point at{};
    std::uint32_t uid = 0;
    std::uint64_t forks = 0;
    std::chrono::microseconds cpu{0};
    bool has_other_processes = false;
    unsigned busy_samples = 0;  // in a row
  };
  void retire(std::optional<Zygote>& zygote);
  void read_messages();
  void on_zygote_failed(Clock::time_point now);
  void check_idle_zygote(Clock::time_point now);

  StartZygote start_zygote_;
  Template description_;
  RuntimeState state_ = RuntimeState::kIdle;
  std::uint32_t generation_ = 1;
  std::string error_;
  std::uint64_t forks_before_ = 0;  // of zygotes that are gone
  bool requested_ = false;
  bool changed_ = true;
  unsigned failures_ = 0;
  Clock::time_point retry_at_{};
  Clock::time_point last_requested_ = Clock::now();
  Clock::time_point last_arrival_{};
  Sample last_sample_{};
  // Destroyed bottom to top: zygotes before the nursery they are in.
  std::optional<Nursery> nursery_;
  std::list<Zygote> retiring_;  // replaced, with sandboxes that still wait for a child
  std::optional<Zygote> zygote_;
  std::optional<Zygote> next_;  // replaces zygote_ when it is ready
};

}  // namespace glovebox::launcher
