// The nurseries of a launcher: a plain one for programs, and one for each template with a zygote,
// so that templates share neither a broker nor a pid namespace. Starts zygotes when they are
// wanted, replaces them when they die, grow old, or the host's packages change under them, and
// keeps the account of each template that clients are shown.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/nursery/nursery.h"
#include "launcher/nursery/zygote.h"
#include "launcher/nursery/zygote_uids.h"
#include "model/limits.h"
#include "model/template.h"

namespace glovebox::launcher {

// When a zygote is replaced by a new one; zero: never.
struct ZygoteBounds {
  std::chrono::seconds max_age{3600};
  std::uint64_t max_forks = 50'000;
  // Of all zygotes of templates that servers defined, together; zero: a quarter of the host's.
  std::uint64_t own_memory_bytes = 0;
};

// What the zygote of a template that a server defined may use: as much as a sandbox of it, and what
// an interpreter needs besides.
std::uint64_t own_zygote_memory(const Limits& limits);

class Broods {
 public:
  using Clock = std::chrono::steady_clock;
  // What is needed of the rest of the launcher.
  struct Making {
    std::function<Result<Nursery>()> start_nursery;
    // Before anything is started for it. kUnsupported: never on this host.
    std::function<Result<>(const Template&)> may_have_zygote;
    std::function<Result<Zygote>(const Template&, Nursery&, ZygoteUids::Held uid)> start_zygote;
  };
  Broods(Making making, ZygoteBounds bounds) : making_(std::move(making)), bounds_(bounds) {}

  // Takes the templates as they are now; those that changed or went are renewed or given up.
  void set_templates(std::vector<Template> templates);
  // The same of one of them.
  void put_template(Template one);
  void remove_template(const std::string& name);
  // Of templates that servers defined: zygotes that nobody has asked for in a long time end, and
  // nothing stays of one that was forgotten once nobody is in it. The administrator's wait as long
  // as he likes. `in_use`: of which there are sandboxes.
  void tidy(const std::set<std::string>& in_use);
  const Template* find(const std::string& name) const;
  std::uint32_t generation_of(const std::string& name) const;

  // The nursery in which sandboxes of a template are made; for programs only, the plain one.
  Result<Nursery*> nursery_for(const std::string& name, bool warm);
  // The same if it is there, and not started for this.
  Nursery* find_nursery(const std::string& name, bool warm);
  // A zygote that can fork, or kUnavailable; it is on its way then.
  Result<Zygote*> zygote_for(const std::string& name);
  // Starts what is needed for warm sandboxes of a template.
  Result<> prepare(const std::string& name);
  // One of its children is in its sandbox, or will never be.
  void joined(const std::string& name, std::uint32_t zygote_uid);
  // It was shown a sandbox and nothing came of it.
  void gave_up_waiting(const std::string& name, std::uint32_t zygote_uid);
  // The same zygote as before, if it is there still.
  Zygote* find_zygote(const std::string& name, std::uint32_t uid);
  // A sandbox of its could not be made in time, and nobody but a zygote can have held that up.
  void suspect(const std::string& name);

  bool has_plain_nursery() const { return plain_.has_value(); }
  // Whether any nursery is gone; it is forgotten then.
  bool forget_dead_nurseries(int wait_ms);
  void kill_plain_nursery() const;
  // Nothing that was made before may be handed out any more.
  void renew_all();
  void stop();

  void add_events(std::vector<pollfd>& events) const;
  void on_events();
  // When to call on_events() next at the latest.
  std::optional<Clock::time_point> next_look() const;

  std::optional<TemplateStatus> status(const std::string& name) const;
  std::vector<std::string> names() const;
  // Those that changed since they were asked for last.
  std::vector<std::string> take_changes();
  // The same of one of them, changed or not.
  std::optional<TemplateStatus> take_change(const std::string& name);

 private:
  struct Brood {
    Template description;
    RuntimeState state = RuntimeState::kIdle;
    std::uint32_t generation = 1;
    std::string error;
    std::uint64_t forks_before = 0;  // of zygotes that are gone
    bool wanted = false;
    bool changed = true;
    unsigned failures = 0;
    Clock::time_point retry_at{};
    Clock::time_point asked_at = Clock::now();
    // Its zygote, when it was looked at last.
    struct Look {
      Clock::time_point at{};
      std::uint32_t uid = 0;
      std::uint64_t forks = 0;
      std::chrono::microseconds cpu{0};
      bool had_company = false;
      unsigned busy_looks = 0;  // in a row
    } look{};
    // Destroyed bottom to top: zygotes before the nursery they are in.
    std::optional<Nursery> nursery;
    std::list<Zygote> leaving;  // replaced, and still owing a child to some sandbox
    std::optional<Zygote> zygote;
    std::optional<Zygote> next;  // takes its place when it is ready
  };
  void remove(Brood& brood);
  Result<> start(Brood& brood);
  Result<Zygote> make_zygote(Brood& brood);
  void tidy_one(Brood& brood, Clock::time_point now, bool in_use);
  void look_at_zygote(Brood& brood, Clock::time_point now);
  void rest(Brood& brood);
  void make_room_for_zygote(const Brood& wanted);
  void end_the_largest();
  bool has_room_to_start(const Brood& brood) const;
  void look_after(Brood& brood, Clock::time_point now);
  void settle(Brood& brood, Clock::time_point now);
  bool is_old(const Zygote& zygote, Clock::time_point now) const;
  void retire(Brood& brood, std::optional<Zygote>& zygote);
  TemplateStatus status_of(const Brood& brood) const;
  Brood* brood_of(const std::string& name);
  std::optional<Nursery>& place_for(const std::string& name, bool warm);

  Making making_;
  ZygoteBounds bounds_;
  ZygoteUids uids_;
  std::optional<Nursery> plain_;
  std::map<std::string, Brood> broods_;
};

}  // namespace glovebox::launcher
