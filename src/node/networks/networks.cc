#include "node/networks/networks.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "node/async/pending_reply.h"

namespace glovebox::node {
namespace {

constexpr const char* kGatewayName = "the network gateway";
// Totals are sums of the gateway's reports; for sessions it is asked periodically.
constexpr std::chrono::seconds kPollInterval{5};
constexpr int kMaxPolled = 16;

}  // namespace

Networks::Networks(boost::asio::io_context& io, LauncherLink& launcher, const NodeOptions& options)
    : io_(io),
      launcher_(launcher),
      options_(options),
      gateway_(io, *this, options.gateway_patience),
      attached_(io),
      poll_timer_(io) {
  poll_some();
}

Networks::~Networks() {
  *gone_ = true;
  stop();
}

void Networks::stop() {
  is_stopped_ = true;
  poll_timer_.cancel();
  attached_.notify_all();
}

void Networks::attach_gateway(UniqueFd socket) {
  gateway_.attach(std::move(socket));
  attached_.notify_all();
  gateway_.list([this, gone = gone_](Result<std::vector<SandboxId>> ids) {
    if (*gone || !ids) return;
    open_at_gateway_ = std::set<SandboxId>(ids->begin(), ids->end());
    is_listed_ = true;
    compare();
  });
}

void Networks::on_gateway_gone() {
  is_listed_ = false;
  open_at_gateway_.clear();
  for (const auto& [id, entry] : entries_) {
    entry->open = false;
    entry->sent.reset();
  }
}

Task<> Networks::wait_for_gateway() {
  const std::shared_ptr<void> held = hold_();
  const Clock::time_point deadline = Clock::now() + options_.gateway_wait;
  while (!gateway_.up() && !is_stopped_ && Clock::now() < deadline) {
    co_await attached_.wait(deadline);
  }
  if (gateway_.up()) co_return Result<>();
  co_return fail(Errc::kUnavailable,
                 "the network gateway is not running, so no sandbox can have a network now; "
                 "try again in a moment");
}

Networks::EntryPtr Networks::find(const SandboxId& id) const {
  const auto at = entries_.find(id);
  return at == entries_.end() ? nullptr : at->second;
}

Networks::EntryPtr Networks::add(const SandboxId& id, std::string tenant, net::NetPolicy policy) {
  auto entry = std::make_shared<Entry>(
      Entry{.id = id, .tenant = std::move(tenant), .policy = std::move(policy)});
  entries_.insert_or_assign(id, entry);
  return entry;
}

void Networks::open(const SandboxId& id, std::string tenant, net::NetPolicy policy, Failed failed) {
  const EntryPtr entry = add(id, std::move(tenant), std::move(policy));
  entry->failed = std::move(failed);
  begin_open(entry);
}

// Makes the gateway follow the entry's policy. One request at a time: its answer comes back here
// through settle().
void Networks::follow(const EntryPtr& entry) {
  if (entry->under_way) return;
  if (!entry->open) return begin_open(entry);
  if (entry->sent == entry->policy) return settle(entry, {});
  entry->under_way = true;
  entry->sent = entry->policy;
  wire::ChangePolicy request{.id = entry->id, .policy = entry->policy};
  gateway_.change(std::move(request), [this, gone = gone_, entry](Result<> how) {
    if (*gone || entry->closed) return;
    entry->under_way = false;
    if (how) return settle(entry, {});
    entry->sent.reset();
    if (how.error().code() != Errc::kNotFound) return settle(entry, std::move(how));
    entry->open = false;
    begin_open(entry);
  });
}

void Networks::begin_open(const EntryPtr& entry) {
  if (std::exchange(entry->under_way, true)) return;
  launcher_.lend_network(
      entry->id, [this, gone = gone_, entry](Result<std::vector<UniqueFd>> lent) {
        if (*gone || entry->closed) return;
        if (!lent) {
          entry->under_way = false;
          return settle(entry,
                        fail(std::move(lent.error()).context("get its network from the launcher")));
        }
        wire::OpenNetwork request{.id = entry->id,
                                  .tenant = entry->tenant,
                                  .policy = entry->policy,
                                  .is_build = entry->is_build};
        entry->sent = entry->policy;
        gateway_.open(std::move(request), std::move(*lent), [this, gone, entry](Result<> how) {
          if (*gone || entry->closed) return;
          entry->under_way = false;
          if (how) entry->open = entry->was_open = true;
          if (!how) entry->sent.reset();
          settle(entry, std::move(how));
        });
      });
}

// A request has been answered. If the policy has changed meanwhile, that is next.
void Networks::settle(const EntryPtr& entry, Result<> how) {
  if (how && entry->sent != entry->policy) return follow(entry);
  const auto waiting = std::exchange(entry->waiting, {});
  for (const GatewayLink::Finished& done : waiting) done(how);
  if (how) return;
  // The gateway was lost meanwhile: the next one opens it. Until then connections wait.
  if (how.error().code() == Errc::kUnavailable && !gateway_.up() && launcher_.up()) return;
  log::warn("could not open the network of a sandbox",
            {{"sandbox", entry->id.str()}, {"error", how.error().message()}});
  if (const Failed failed = std::exchange(entry->failed, {})) {
    return failed(std::move(how.error()).context("open the sandbox's network"));
  }
  // The policy exceeds the gateway's ceiling, and no caller waits for the error: everything is
  // refused, rather than leaving connections without an answer.
  if (how.error().code() == Errc::kPolicy && waiting.empty() && !entry->policy.is_none()) {
    entry->policy = {};
    follow(entry);
  }
}

Task<> Networks::set_network(SandboxId id, std::string tenant, net::NetPolicy policy) {
  return set(std::move(id), std::move(tenant), std::move(policy), false);
}

Task<> Networks::open_for_build(SandboxId id, std::string tenant, net::NetPolicy policy) {
  return set(std::move(id), std::move(tenant), std::move(policy), true);
}

// `is_build` counts for a new entry; an existing one keeps its kind.
Task<> Networks::set(SandboxId id, std::string tenant, net::NetPolicy policy, bool is_build) {
  const std::shared_ptr<void> held = hold_();
  if (!find(id) && policy.is_none()) co_return Result<>();
  CO_TRY_OK(co_await wait_for_gateway());
  EntryPtr entry = find(id);
  const bool is_new = entry == nullptr;
  if (is_new) {
    entry = add(id, std::move(tenant), {});
    entry->is_build = is_build;
  }
  const net::NetPolicy before = std::exchange(entry->policy, std::move(policy));
  const auto answer = std::make_shared<PendingReply<void>>(io_);
  entry->waiting.push_back([answer](Result<> how) { answer->set(std::move(how)); });
  follow(entry);
  const Clock::time_point deadline = Clock::now() + options_.gateway_patience;
  Result<> done = co_await PendingReply<void>::wait(answer, deadline, kGatewayName);
  if (done || entry->closed) co_return done;
  // Back to the previous policy, even if the gateway has seen the new one.
  entry->policy = before;
  if (is_new) {
    close(id, {});
  } else if (entry->open) {
    follow(entry);
  }
  co_return done;
}

void Networks::restore_network(SandboxId id, std::string tenant, net::NetPolicy policy) {
  if (find(id)) return;  // it was set since, and that is newer
  const EntryPtr entry = add(id, std::move(tenant), std::move(policy));
  entry->restored = entry->was_open = true;
  if (is_listed_) compare_one(entry);
}

void Networks::restored_all() {
  is_restored_ = true;
  if (is_listed_) close_unknown();
}

// Compares what should be open with what the gateway has.
void Networks::compare() {
  const std::map<SandboxId, EntryPtr> entries = entries_;
  for (const auto& [id, entry] : entries) {
    if (!entry->open && !entry->under_way) compare_one(entry);
  }
  if (is_restored_) close_unknown();
}

void Networks::compare_one(const EntryPtr& entry) {
  if (open_at_gateway_.contains(entry->id)) {
    // It may follow an older policy than the one that the server stored.
    entry->open = true;
    entry->sent.reset();
    return follow(entry);
  }
  if (entry->policy == net::NetPolicy{} && entry->restored) {
    // It has no network and needs none. A policy that denies explicitly had one, and is reopened.
    entries_.erase(entry->id);
    entry->closed = true;
    return;
  }
  if (entry->was_open) note_restarted(entry);
  begin_open(entry);
}

// Closes networks of sandboxes that this server does not know.
void Networks::close_unknown() {
  for (const SandboxId& id : open_at_gateway_) {
    if (find(id)) continue;
    wire::ReadNetwork request{.id = id, .close = true};
    gateway_.read(std::move(request), [](const Result<wire::NetworkReport>&) {});
  }
}

// The sandboxes of one tenant are reported together.
void Networks::note_restarted(const EntryPtr& entry) {
  entry->incomplete = true;
  entry->counted = {};
  if (entry->is_build) return;
  if (restarted_.empty()) {
    boost::asio::post(io_, [this, gone = gone_] {
      if (*gone) return;
      for (auto& [tenant, ids] : std::exchange(restarted_, {})) {
        log::warn("a restart of the gateway cut networks",
                  {{"project", tenant}, {"sandboxes", std::to_string(ids.size())}});
        const Restarted event{.tenant = tenant, .ids = std::move(ids)};
        if (on_restarted_) on_restarted_(event);
      }
    });
  }
  restarted_[entry->tenant].push_back(entry->id);
}

void Networks::on_decision(wire::NetworkDecided decided) {
  const EntryPtr entry = find(decided.id);
  if (!entry || entry->is_build || !on_decided_) return;
  const Decided event{
      .id = decided.id, .tenant = entry->tenant, .decision = std::move(decided.decision)};
  on_decided_(event);
}

Task<wire::NetworkFigures> Networks::read_network(SandboxId id) {
  const std::shared_ptr<void> held = hold_();
  const EntryPtr entry = find(id);
  if (!entry) co_return fail(Errc::kNotFound, "this sandbox never had a network");
  if (!entry->was_open) co_return wire::NetworkFigures{};  // it is still being opened
  CO_TRY_OK(co_await wait_for_gateway());
  const auto answer = std::make_shared<PendingReply<wire::NetworkReport>>(io_);
  wire::ReadNetwork request{.id = id};
  gateway_.read(std::move(request),
                [answer](Result<wire::NetworkReport> report) { answer->set(std::move(report)); });
  const Clock::time_point deadline = Clock::now() + options_.gateway_patience;
  Result<wire::NetworkReport> report =
      co_await PendingReply<wire::NetworkReport>::wait(answer, deadline, kGatewayName);
  if (!report && report.error().code() == Errc::kNotFound) {
    co_return fail(Errc::kUnavailable,
                   "the network gateway is reopening this network; try again in a moment");
  }
  if (!report) co_return fail(std::move(report.error()));
  co_return figures_of(*entry, std::move(*report));
}

void Networks::close(const SandboxId& id, Closed done) {
  const EntryPtr entry = find(id);
  if (!entry) return;
  entries_.erase(id);
  entry->closed = true;
  entry->failed = {};
  for (const GatewayLink::Finished& waits : std::exchange(entry->waiting, {})) {
    waits(fail(Errc::kUnavailable, "the sandbox has ended"));
  }
  wire::ReadNetwork request{.id = id, .close = true};
  gateway_.read(std::move(request), [this, gone = gone_, entry,
                                     done = std::move(done)](Result<wire::NetworkReport> report) {
    if (*gone) return;
    wire::NetworkFigures figures;
    figures.incomplete = true;
    if (report) figures = figures_of(*entry, std::move(*report));
    // It ended before it was opened: there was no traffic.
    if (!report && !entry->was_open) figures.incomplete = false;
    if (done) done(std::move(figures));
  });
}

wire::NetworkFigures Networks::figures_of(Entry& entry, wire::NetworkReport report) {
  count(entry, report.totals);
  return {.totals = report.totals,
          .decisions = std::move(report.decisions),
          .left_out = report.left_out,
          .incomplete = entry.incomplete};
}

void Networks::count(Entry& entry, const wire::NetTotals& totals) {
  const auto add = [](std::uint64_t& sum, std::uint64_t now, std::uint64_t before) {
    if (now > before) sum += now - before;
  };
  add(sums_.connections, totals.connections, entry.counted.connections);
  add(sums_.denied, totals.denied, entry.counted.denied);
  add(sums_.bytes_out, totals.bytes_out, entry.counted.bytes_out);
  add(sums_.bytes_in, totals.bytes_in, entry.counted.bytes_in);
  entry.counted = totals;
}

void Networks::poll_some() {
  poll_timer_.expires_after(kPollInterval);
  poll_timer_.async_wait([this, gone = gone_](const boost::system::error_code& error) {
    if (error || *gone) return;
    auto at = last_polled_ ? entries_.upper_bound(*last_polled_) : entries_.begin();
    last_polled_.reset();  // start over, unless there are more
    for (int polled = 0; at != entries_.end() && gateway_.up(); ++at) {
      const EntryPtr entry = at->second;
      if (entry->failed || !entry->open) continue;  // a run's network is read at its end
      if (polled++ == kMaxPolled) break;
      last_polled_ = entry->id;
      wire::ReadNetwork request{.id = entry->id};
      gateway_.read(std::move(request), [this, gone, entry](Result<wire::NetworkReport> report) {
        if (!*gone && !entry->closed && report) count(*entry, report->totals);
      });
    }
    poll_some();
  });
}

NetworkTotals Networks::totals() const {
  return {.gateway_up = gateway_.up(),
          .gateway_losses = gateway_.losses(),
          .networks = static_cast<std::uint32_t>(entries_.size()),
          .connections = sums_.connections,
          .denied = sums_.denied,
          .bytes_out = sums_.bytes_out,
          .bytes_in = sums_.bytes_in};
}

}  // namespace glovebox::node
