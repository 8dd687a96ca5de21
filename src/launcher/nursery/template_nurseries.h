// The nurseries of a launcher: a plain one for programs, and one for each template with a zygote,
// so that templates share neither a broker nor a pid namespace. Knows every template, starts and
// replaces zygotes when they are needed, and bounds how many zygotes and how much memory the
// templates that servers define may have.
//
// Owned by JailMaker; used on the launcher's one thread. Never waits for a zygote.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/nursery/nursery.h"
#include "launcher/nursery/template_nursery.h"
#include "launcher/nursery/zygote.h"
#include "launcher/nursery/zygote_uids.h"
#include "model/limits.h"
#include "model/template.h"

namespace glovebox::launcher {

// Memory limit of the zygote of a template that a server defined: that of a sandbox of the
// template, plus what an interpreter needs.
std::uint64_t own_zygote_memory(const Limits& limits);

class TemplateNurseries {
 public:
  using Clock = std::chrono::steady_clock;
  // What this class needs from the rest of the launcher.
  struct Callbacks {
    std::function<Result<Nursery>()> start_nursery;
    // Called before anything is started. kUnsupported: never on this host.
    std::function<Result<>(const Template&)> may_have_zygote;
    std::function<Result<Zygote>(const Template&, Nursery&, ZygoteUids::Lease uid)> start_zygote;
  };
  TemplateNurseries(Callbacks callbacks, ZygoteBounds bounds);
  TemplateNurseries(const TemplateNurseries&) = delete;
  TemplateNurseries& operator=(const TemplateNurseries&) = delete;

  // Replaces the list of templates; zygotes of those that changed or went are replaced or ended.
  void set_templates(std::vector<Template> templates);
  // Adds or replaces one template.
  void put_template(Template one);
  void remove_template(const std::string& name);
  // For templates that servers defined: ends zygotes that have long been idle, and drops removed
  // templates without sandboxes. Zygotes of the administrator's templates have no such limit.
  // `in_use`: the names of templates with sandboxes.
  void tidy(const std::set<std::string>& in_use);
  // Null if there is none, or it was removed.
  const Template* find(const std::string& name) const;
  std::uint32_t generation_of(const std::string& name) const;

  // The nursery in which sandboxes of a template are made, started if needed: for warm sandboxes of
  // a template with a zygote its own one, else the plain one.
  Result<Nursery*> nursery_for(const std::string& name, bool warm);
  // The same nursery if it is running, else null.
  Nursery* find_nursery(const std::string& name, bool warm);
  // A zygote that is ready to fork. kUnavailable: it is starting, or cannot be started.
  Result<Zygote*> zygote_for(const std::string& name);
  // Starts what is needed for warm sandboxes of a template.
  Result<> prepare(const std::string& name);
  // A child of this zygote is in its sandbox, or will never be.
  void join_finished(const std::string& name, std::uint32_t zygote_uid);
  // A template's runtime has arrived in its sandbox.
  void runtime_arrived(const std::string& name);
  // When the last one did: while they arrive, one that takes longer is late because the host is
  // busy, and its zygote is not to blame.
  std::chrono::steady_clock::time_point last_arrival(const std::string& name) const;
  // No child arrived in the sandbox that the zygote was given: the zygote is ended.
  void join_timed_out(const std::string& name, std::uint32_t zygote_uid);
  // A zygote by its uid, if it is still there.
  Zygote* find_zygote(const std::string& name, std::uint32_t uid);
  // A warm sandbox was not set up in time; only its zygote can have caused that, so it is ended.
  void setup_timed_out(const std::string& name);

  bool has_plain_nursery() const { return plain_.has_value(); }
  // Returns whether any nursery had died.
  bool remove_dead_nurseries(int wait_ms);
  void kill_plain_nursery() const;
  // The host's files have changed: nothing that was made before may be handed out any more.
  void replace_all_zygotes();
  void stop();

  void add_events(std::vector<pollfd>& events) const;
  void on_events();
  // When to call on_events() next at the latest.
  std::optional<Clock::time_point> next_check() const;

  std::optional<TemplateStatus> status(const std::string& name) const;
  std::vector<std::string> names() const;
  // The names of templates whose status changed since the last call.
  std::vector<std::string> take_changes();
  // One template's status, changed or not; it then counts as reported.
  std::optional<TemplateStatus> take_change(const std::string& name);

 private:
  Result<Zygote> start_zygote(TemplateNursery& one);
  void make_room_for_zygote(const TemplateNursery& wanted);
  void suspend_largest_if_over_memory();
  bool may_start_another(const TemplateNursery& one) const;
  TemplateNursery* find_live(const std::string& name);
  std::optional<Nursery>& nursery_slot(const std::string& name, bool warm);

  Callbacks callbacks_;
  ZygoteBounds bounds_;
  ZygoteUids uids_;
  std::optional<Nursery> plain_;
  std::map<std::string, TemplateNursery> all_;  // by the template's name
};

}  // namespace glovebox::launcher
