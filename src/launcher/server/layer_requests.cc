#include "launcher/server/layer_requests.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace glovebox::launcher {
namespace {

// For its sandbox to end and the disk to be synced.
constexpr std::chrono::seconds kKeepTimeout{60};
// For sandboxes that use the layer and are ending already.
constexpr std::chrono::seconds kDropTimeout{2};
constexpr std::chrono::milliseconds kDropCheckInterval{10};
constexpr std::size_t kListedPerRound = 16;
constexpr std::size_t kMaxPendingDrops = 256;

int sync_disk_of(const std::string& path) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  return directory && ::syncfs(directory.get()) == 0 ? 0 : 1;
}

}  // namespace

bool LayerRequests::check_is_server(Client& client, std::uint32_t seq) {
  if (client.caller.is_server) return true;
  clients_.refuse(client, seq, Error(Errc::kPolicy, "only servers may use layers"));
  return false;
}

bool LayerRequests::is_being_kept(const std::string& id) const {
  return std::any_of(keeps_.begin(), keeps_.end(),
                     [&id](const PendingKeep& one) { return one.record.id == id; });
}

void LayerRequests::keep(Client& client, wire::KeepLayer request) {
  if (!check_is_server(client, request.seq)) return;
  const std::string id = request.record.id;
  const auto refuse = [&](Errc code, const char* why) {
    clients_.refuse(client, request.seq, Error(code, "layer " + id + ": " + why));
  };
  if (is_being_kept(id)) return refuse(Errc::kConflict, "it is being kept already");
  const LayerStore::Staged state = maker_.layer_store().staged(id, &client);
  if (state == LayerStore::Staged::kNone) {
    return refuse(Errc::kNotFound, "this client has not begun it");
  }
  // A sandbox that was told to end may take a moment.
  if (state == LayerStore::Staged::kMaking && !sandboxes_.is_ending_with_layer(id)) {
    return refuse(Errc::kConflict, "its sandbox has not ended");
  }
  keeps_.push_back({&client, request.seq, std::move(request.record), Clock::now() + kKeepTimeout});
}

std::optional<Result<>> LayerRequests::try_keep(PendingKeep& keep, Clock::time_point now) {
  LayerStore& store = maker_.layer_store();
  const std::string& id = keep.record.id;
  const bool out_of_time = now >= keep.deadline;
  if (store.staged(id, keep.client) == LayerStore::Staged::kMaking && !out_of_time) {
    return std::nullopt;
  }
  if (!keep.sync) {
    const std::string path = store.path_of_staged(id);
    auto begun = DiskTask::start([&path] { return sync_disk_of(path); });
    if (begun) keep.sync.emplace(std::move(*begun));
  }
  // Where the disk is too slow the layer is kept all the same: after a restart of the host it is
  // compared with its digest.
  if (keep.sync && !out_of_time && !keep.sync->is_finished(0)) return std::nullopt;
  return store.keep(keep.record, keep.client);
}

void LayerRequests::note(Client& client, wire::NoteLayer request) {
  if (!check_is_server(client, request.seq)) return;
  clients_.answer(client, request.seq,
                  maker_.layer_store().note(request.id, std::move(request.note)));
}

void LayerRequests::drop(Client& client, const wire::DropLayer& request) {
  if (!check_is_server(client, request.seq)) return;
  const PendingDrop drop{&client, request.seq, request.id, Clock::now() + kDropTimeout};
  const bool may_wait = drops_.size() < kMaxPendingDrops;
  if (const auto outcome = try_drop(drop, may_wait ? Clock::now() : Clock::time_point::max())) {
    return clients_.answer(client, request.seq, *outcome);
  }
  drops_.push_back(drop);
}

std::optional<Result<>> LayerRequests::try_drop(const PendingDrop& drop, Clock::time_point now) {
  Result<> outcome = maker_.layer_store().drop(drop.id);
  const bool in_use = !outcome && outcome.error().code() == Errc::kConflict;
  // The user of the layer may be about to end.
  if (in_use && now < drop.deadline && is_anything_ending()) return std::nullopt;
  return outcome;
}

bool LayerRequests::is_anything_ending() const {
  return !maker_.jails().zygote_cleanup().empty() || sandboxes_.is_any_ending();
}

void LayerRequests::advance() {
  maker_.layer_store().remover().poll();
  if (keeps_.empty() && drops_.empty()) return;
  const Clock::time_point now = Clock::now();
  struct Finished {
    Client* client;
    std::uint32_t seq;
    Result<> outcome;
  };
  // Sent at the end: a client that does not read is dropped with all that it waits for.
  std::vector<Finished> finished;
  const auto advance_all = [&](auto& requests, const auto& try_one) {
    for (auto at = requests.begin(); at != requests.end();) {
      const auto one = at++;
      auto outcome = try_one(*one);
      if (!outcome) continue;
      finished.push_back({one->client, one->seq, std::move(*outcome)});
      requests.erase(one);
    }
  };
  advance_all(keeps_, [&](PendingKeep& one) { return try_keep(one, now); });
  advance_all(drops_, [&](const PendingDrop& one) { return try_drop(one, now); });
  for (const Finished& one : finished) clients_.answer(*one.client, one.seq, one.outcome);
}

void LayerRequests::list(Client& client, std::uint32_t seq) {
  if (!check_is_server(client, seq)) return;
  if (client.layer_listing) {
    return clients_.refuse(client, seq,
                           Error(Errc::kConflict, "a list of layers is already being sent"));
  }
  const std::vector<std::string> ids = maker_.layer_store().ids();
  client.layer_listing.emplace(LayerListing{seq, {ids.begin(), ids.end()}});
  continue_listing(client);
}

void LayerRequests::continue_listing(Client& client) {
  if (client.gone || !client.layer_listing) return;
  const std::uint32_t seq = client.layer_listing->seq;
  std::deque<std::string>& left = client.layer_listing->left;
  for (std::size_t sent = 0; !left.empty(); ++sent, left.pop_front()) {
    if (sent >= kListedPerRound) return;
    auto record = maker_.layer_store().record(left.front());
    if (!record) continue;  // it has gone meanwhile
    if (!clients_.try_send(client, wire::LayerListed{seq, std::move(*record)})) return;
  }
  if (clients_.try_send(client, wire::Done{seq})) client.layer_listing.reset();
}

void LayerRequests::tidy(Clock::time_point now) {
  LayerStore& store = maker_.layer_store();
  store.tidy(now, [this](const std::string& id) { return is_being_kept(id); });
  // The server that fills a layer bounds what its sandbox writes; this protects the host's disk.
  for (const std::string& id : store.without_room()) sandboxes_.kill_makers_of(id);
}

void LayerRequests::client_gone(Client& client) {
  keeps_.remove_if([&client](const PendingKeep& one) { return one.client == &client; });
  drops_.remove_if([&client](const PendingDrop& one) { return one.client == &client; });
  maker_.layer_store().owner_gone(&client);
}

void LayerRequests::shut_down() {
  keeps_.clear();
  tidy(Clock::now());
  maker_.layer_store().remover().finish();
}

void LayerRequests::add_events(std::vector<pollfd>& events) const {
  maker_.layer_store().remover().add_events(events);
  for (const PendingKeep& one : keeps_) {
    if (one.sync) events.push_back({one.sync->pidfd(), POLLIN, 0});
  }
}

std::optional<Clock::time_point> LayerRequests::next_check() const {
  if (!drops_.empty()) return Clock::now() + kDropCheckInterval;
  return maker_.layer_store().next_due();
}

}  // namespace glovebox::launcher
