#include "launcher/server/sandbox_table.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/sandbox/memory_shares.h"
#include "model/template_rules.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

// Cleaned up per round of the loop, so that requests do not wait for it.
constexpr std::size_t kCleanedPerRound = 2;

}  // namespace

SandboxTable::SandboxTable(SandboxMaker& maker, ClientConnections& clients, SandboxWatch watch,
                           std::uint32_t max_sandboxes)
    : maker_(maker),
      clients_(clients),
      max_sandboxes_(max_sandboxes),
      watch_(std::move(watch)),
      sessions_(maker.jails().nurseries(), watch_,
                [&clients](Client& client, const wire::LauncherReply& reply) {
                  clients.send(client, reply);
                }),
      recycler_(maker.jails()) {}

void SandboxTable::create(Client& client, const wire::CreateSandbox& request,
                          std::vector<UniqueFd> fds) {
  if (is_shut_down_) {
    return clients_.refuse(client, request.seq,
                           Error(Errc::kResourceExhausted,
                                 "this private launcher has served its one sandbox and is ending"));
  }
  if (records_.size() + pending_.size() >= max_sandboxes_) {
    return clients_.refuse(client, request.seq,
                           Error(Errc::kResourceExhausted,
                                 "the launcher has reached its limit of sandboxes at once: " +
                                     std::to_string(max_sandboxes_)));
  }
  if (!maker_.may_use(request.template_name, &client)) {
    return clients_.refuse(
        client, request.seq,
        Error(Errc::kNotFound, "there is no template '" + request.template_name + "'"));
  }
  const PendingSandbox pending{&client,
                               request.seq,
                               request.limits,
                               request.template_name,
                               request.waits,
                               request.layer,
                               request.waits && !request.reusable ? 0 : request.tenant};
  const std::uint64_t ticket = next_ticket_++;
  pending_.emplace(ticket, pending);
  auto sandbox = maker_.make(request, std::move(fds), client.caller, &client, ticket);
  if (sandbox && !*sandbox) return take_made();  // begun; a spare one may have been used
  pending_.erase(ticket);
  if (!sandbox) return clients_.refuse(client, request.seq, sandbox.error());
  add(std::move(**sandbox), pending);
}

Result<> SandboxTable::recycle(SandboxRecord& record, const wire::RecycleSandbox& request,
                               UniqueFd link) {
  TRY_OK(recycler_.begin(record.sandbox, std::move(link), request.hurry));
  record.seq = request.seq;
  record.announced = false;
  return {};
}

void SandboxTable::take_made() {
  for (JailMaker::Made& made : maker_.jails().take_made()) {
    const auto found = pending_.find(made.ticket);
    const PendingSandbox pending = found->second;
    pending_.erase(found);
    if (made.sandbox) {
      add(std::move(*made.sandbox), pending);
    } else if (pending.client != nullptr) {
      clients_.refuse(*pending.client, pending.seq, made.sandbox.error());
    }
  }
}

void SandboxTable::add(Sandbox sandbox, const PendingSandbox& pending) {
  std::string id = sandbox.id().str();
  const bool session = sandbox.session() != nullptr;
  SandboxRecord& record =
      records_
          .try_emplace(std::move(id),
                       SandboxRecord{std::move(sandbox), pending.client, pending.seq,
                                     pending.limits, pending.template_name, pending.waits, false,
                                     pending.layer, pending.tenant})
          .first->second;
  if (!session) runs_.push_back(&record);
  if (auto watched = watch_.add(record); !watched) {
    log::warn("a sandbox cannot be watched", {{"error", watched.error().message()}});
    fail_start(record, "the launcher cannot watch it");
    dead_.push_back(&record);
    return;
  }
  if (record.client == nullptr) return record.sandbox.kill(EndReason::kDestroyed);
  if (!record.sandbox.joining) announce(record);
}

// The sandbox is complete: its client may use it.
void SandboxTable::announce(SandboxRecord& record) {
  if (record.client == nullptr) return;
  if (!record.waits && record.sandbox.is_waiting()) {
    const auto limits = maker_.checked_limits(record.limits);
    const Result<> taken = limits ? record.sandbox.take(*limits) : Result<>(fail(limits.error()));
    if (!taken) return fail_start(record, taken.error().message());
  }
  record.announced = true;
  const std::uint32_t generation = maker_.jails().nurseries().generation_of(record.template_name);
  clients_.send(*record.client,
                wire::SandboxCreated{record.seq, record.sandbox.id(), record.sandbox.walls(),
                                     generation, record.sandbox.has_network()});
}

void SandboxTable::check_joining() {
  for (SandboxRecord* record : runs_) {
    if (record->sandbox.joining) check_joining(*record);
  }
}

void SandboxTable::check_joining(SandboxRecord& record) {
  TemplateNurseries& nurseries = maker_.jails().nurseries();
  const Sandbox::Joining joining = *record.sandbox.joining;
  pollfd event{record.sandbox.setup_fd(), POLLIN, 0};
  if (::poll(&event, 1, 0) != 1) return joining_overdue(record, joining);
  const std::size_t max_fds =
      record.sandbox.reuse() != nullptr ? wire::kDescriptorsOfARuntime + 1 : 0;
  auto received = receive_message(record.sandbox.setup_fd(), wire::kMaxPlanMessage, max_fds);
  auto message = received && !received->bytes.empty()
                     ? wire::decode_plan_message(received->bytes)
                     : Result<wire::PlanMessage>(fail(Errc::kUnavailable, "its agent is gone"));
  if (message && std::holds_alternative<wire::JoinRuntime>(*message) &&
      record.sandbox.reuse() != nullptr) {
    const Result<> joined = recycler_.join(record.sandbox, received->fds);
    if (joined) return;
    nurseries.join_finished(joining.template_name, joining.zygote_uid);
    return fail_start(record, joined.error().message());
  }
  nurseries.join_finished(joining.template_name, joining.zygote_uid);
  if (message && std::holds_alternative<wire::RuntimeReady>(*message) && !joining.is_cleaning) {
    nurseries.runtime_arrived(joining.template_name);
    record.sandbox.joining.reset();
    return announce(record);
  }
  const auto* failed = message ? std::get_if<wire::SandboxFailed>(&*message) : nullptr;
  fail_start(record, failed != nullptr ? failed->step : "the runtime did not become ready");
}

void SandboxTable::joining_overdue(SandboxRecord& record, const Sandbox::Joining& joining) {
  TemplateNurseries& nurseries = maker_.jails().nurseries();
  const Clock::time_point now = Clock::now();
  if (now < joining.deadline) return;
  if (joining.is_cleaning) {  // no zygote is to blame
    nurseries.join_finished(joining.template_name, joining.zygote_uid);
    return fail_start(record, "the sandbox was not cleaned up in time");
  }
  const Clock::time_point stuck_at =
      nurseries.last_arrival(joining.template_name) + Sandbox::kJoinTimeout;
  if (now < std::min(stuck_at, joining.last_deadline)) {
    record.sandbox.joining->deadline = std::min(stuck_at, joining.last_deadline);
    return;
  }
  if (now < stuck_at) {
    nurseries.join_finished(joining.template_name, joining.zygote_uid);
  } else {
    nurseries.join_timed_out(joining.template_name, joining.zygote_uid);
  }
  fail_start(record, "the runtime did not arrive in the sandbox in time");
}

// Refuses the request and ends the sandbox; the client may ask for a cold one.
void SandboxTable::fail_start(SandboxRecord& record, const std::string& why) {
  // No warning where the sandbox or its template is not wanted any more.
  const bool is_wanted = record.client != nullptr && !record.sandbox.is_ending() &&
                         maker_.jails().nurseries().find(record.template_name) != nullptr;
  if (is_wanted) log::warn("a sandbox did not start", {{"why", why}});
  record.sandbox.joining.reset();
  if (record.client != nullptr) {
    clients_.send(*record.client, wire::SandboxRefused{record.seq, Errc::kUnavailable, 0, why});
  }
  record.client = nullptr;
  record.sandbox.kill(EndReason::kDestroyed);
}

SandboxRecord* SandboxTable::find(const Client& client, const SandboxId& id) {
  const auto found = records_.find(id.str());
  const bool its_own = found != records_.end() && found->second.client == &client;
  return its_own ? &found->second : nullptr;
}

std::deque<SandboxId> SandboxTable::adopt_sessions(Client& client) {
  std::deque<SandboxId> adopted;
  for (auto& [id, record] : records_) {
    const bool free = record.client == nullptr && record.announced &&
                      record.sandbox.session() != nullptr && !record.sandbox.is_ending();
    if (!free) continue;
    record.client = &client;
    adopted.push_back(record.sandbox.id());
  }
  return adopted;
}

bool SandboxTable::is_any_ending() const {
  return std::any_of(records_.begin(), records_.end(),
                     [](const auto& entry) { return entry.second.sandbox.is_ending(); });
}

bool SandboxTable::is_ending_with_layer(const std::string& layer) const {
  return std::any_of(records_.begin(), records_.end(), [&layer](const auto& entry) {
    return entry.second.layer == layer && entry.second.sandbox.is_ending();
  });
}

void SandboxTable::kill_makers_of(const std::string& layer) {
  for (auto& [id, record] : records_) {
    if (record.layer != layer || record.sandbox.is_ending()) continue;
    log::warn("the disk is full; a sandbox that makes a layer is ended", {{"sandbox", id}});
    record.sandbox.kill(EndReason::kDestroyed);
  }
}

std::set<std::string> SandboxTable::templates_in_use() const {
  std::set<std::string> in_use;
  for (const auto& [id, record] : records_) {
    if (is_dynamic_template_id(record.template_name)) in_use.insert(record.template_name);
  }
  for (const auto& [ticket, pending] : pending_) in_use.insert(pending.template_name);
  return in_use;
}

void SandboxTable::client_gone(Client& client) {
  sessions_.forget(client);
  for (auto& [ticket, pending] : pending_) {
    if (pending.client == &client) pending.client = nullptr;
  }
  for (auto& [id, record] : records_) {
    if (record.client != &client) continue;
    record.client = nullptr;
    // A sandbox with a layer is one step of a build, which no other server continues.
    if (record.sandbox.session() != nullptr && record.announced && record.layer.empty()) continue;
    record.sandbox.kill(EndReason::kDestroyed);
  }
}

void SandboxTable::kill_all() {
  for (auto& [id, record] : records_) record.sandbox.kill(EndReason::kDestroyed);
}

void SandboxTable::add_events(std::vector<pollfd>& events) const {
  for (const SandboxRecord* record : runs_) {
    if (record->sandbox.joining) events.push_back({record->sandbox.setup_fd(), POLLIN, 0});
  }
}

void SandboxTable::check_limits(Clock::time_point now) {
  for (SandboxRecord* record : runs_) record->sandbox.check(now);
}

void SandboxTable::share_memory(Clock::time_point now) {
  sys::CgroupParents& parents = maker_.parents();
  if (!parents.is_bounded() || now < next_share_) return;
  parents.remove_idle(now);
  const sys::CgroupTotalsNow all = parents.now();
  const std::vector<MemoryBound> bounds =
      memory_bounds(parents.totals(), all.memory_bytes.value_or(0), parents.tenants());
  for (const MemoryBound& bound : bounds) parents.set_tenant_memory(bound.tenant, bound.bytes);
  // Reading the memory of every sandbox takes time, so it is done only when it matters.
  if (is_nearly_full(parents.totals(), all.charged_bytes)) {
    relieve_memory_pressure(all.charged_bytes);
  } else {
    maker_.set_memory_short(false);
  }
  // With many sandboxes it takes at most a tenth of the launcher's time.
  next_share_ = now + std::max<Clock::duration>(next_look(parents.totals(), all.charged_bytes),
                                                10 * (Clock::now() - now));
}

void SandboxTable::relieve_memory_pressure(std::uint64_t charged_bytes) {
  const sys::CgroupTotals& totals = maker_.parents().totals();
  // Runs that were made in advance are in no tenant's cgroup, and the statistics of the cgroups
  // above the sandboxes are late: the sandboxes' own count.
  std::map<std::uint64_t, std::uint64_t> by_tenant;
  std::uint64_t page_cache = 0;
  for (const auto& [id, record] : records_) {
    const sys::Cgroup& cgroup = record.sandbox.cgroup();
    page_cache += cgroup.page_cache_bytes();
    if (record.tenant != 0) by_tenant[record.tenant] += cgroup.firm_memory_bytes().value_or(0);
  }
  std::vector<sys::TenantMemory> tenants;
  for (const auto& [tenant, bytes] : by_tenant) tenants.push_back({tenant, bytes, bytes});
  const std::uint64_t used = charged_bytes - std::min(charged_bytes, page_cache);
  maker_.set_memory_short(is_full(totals, used));
  if (const auto tenant = tenant_above_share(totals, used, tenants)) end_largest_of(*tenant);
}

void SandboxTable::end_largest_of(std::uint64_t tenant) {
  SandboxRecord* largest = nullptr;
  std::uint64_t most = 0;
  for (auto& [id, record] : records_) {
    if (record.tenant != tenant) continue;
    if (record.sandbox.was_killed_for_memory()) return;  // its memory is free in a moment
    if (record.sandbox.is_ending()) continue;
    const std::uint64_t bytes = record.sandbox.cgroup().now().memory_bytes.value_or(0);
    if (bytes < most) continue;
    most = bytes;
    largest = &record;
  }
  if (largest == nullptr) return;
  log::warn("the host is short of memory: a sandbox of the tenant above its share is ended",
            {{"sandbox", largest->sandbox.id().str()}, {"bytes", std::to_string(most)}});
  largest->sandbox.kill_for_memory();
}

void SandboxTable::on_events() {
  SandboxWatch::Events events = watch_.take();
  for (SandboxRecord* record : events.readable) sessions_.on_readable(*record);
  dead_.insert(dead_.end(), events.dead.begin(), events.dead.end());
}

void SandboxTable::finish_dead() {
  for (SandboxRecord* record : std::exchange(dead_, {})) finish(*record);
}

void SandboxTable::finish(SandboxRecord& record) {
  watch_.remove(record);
  sessions_.forget(record);
  // A client that destroyed it has its usage; reading it again takes 18 system calls.
  const Usage usage = record.sandbox.finish(record.client != nullptr ? Sandbox::Report::kUsage
                                                                     : Sandbox::Report::kNothing);
  const wire::SandboxEnded ended{record.sandbox.id(), record.sandbox.end_reason(), usage};
  const bool announced = record.announced;
  const std::uint32_t seq = record.seq;
  Client* client = record.client;
  if (const auto& joining = record.sandbox.joining) {
    maker_.jails().nurseries().join_finished(joining->template_name, joining->zygote_uid);
  }
  if (record.sandbox.is_empty()) maker_.release(record.sandbox);
  // A private launcher has nothing else to do, so it cleans up at once.
  if (clients_.is_private() && record.sandbox.is_empty()) (void)record.sandbox.clean_up();
  if (!record.sandbox.is_clean()) cleanup_.add(std::move(record.sandbox));
  std::erase(runs_, &record);
  records_.erase(ended.id.str());
  if (clients_.is_private() && records_.empty()) {
    // The connection stays open until the client closes it: closing it while a message of the
    // client is unread would discard our reply.
    maker_.shut_down();
    is_shut_down_ = true;
  }
  if (client == nullptr) return;
  if (announced) {
    clients_.send(*client, ended);
  } else {
    clients_.send(*client, wire::SandboxRefused{seq, Errc::kUnavailable, 0,
                                                "the sandbox died before it was ready"});
  }
}

PendingSandboxCleanup::Release SandboxTable::release() {
  return [this](const Sandbox& sandbox) { maker_.release(sandbox); };
}

void SandboxTable::clean_up_some() { cleanup_.clean_up(kCleanedPerRound, release()); }

void SandboxTable::clean_up_all() { cleanup_.clean_up_all(release()); }

std::optional<Clock::time_point> SandboxTable::next_check(Clock::time_point now) const {
  std::optional<Clock::time_point> next;
  const auto sooner = [&next](Clock::time_point at) { next = std::min(next.value_or(at), at); };
  for (const SandboxRecord* record : runs_) sooner(record->sandbox.next_check());
  if (const auto check = sessions_.next_check(now)) sooner(*check);
  if (const auto due = cleanup_.next_due()) sooner(*due);
  if (maker_.parents().is_bounded() && !records_.empty()) sooner(next_share_);
  return next;
}

}  // namespace glovebox::launcher
