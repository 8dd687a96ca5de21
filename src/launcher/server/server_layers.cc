// What the launcher's loop does with layers: they are kept, noted, listed and dropped for servers,
// and nothing of it takes its one thread longer than a small file does.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/server/server_loop.h"

namespace glovebox::launcher {
namespace {

// Its sandbox dies and the disk is written out.
constexpr std::chrono::seconds kKeptWithin{60};
// Who used it is on his way out.
constexpr std::chrono::seconds kDroppedWithin{2};
constexpr std::chrono::milliseconds kLookWhileDropping{10};
constexpr std::size_t kListedAtOnce = 16;
constexpr std::size_t kMostDroppings = 256;

int write_out(const std::string& path) {
  const UniqueFd there(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  return there && ::syncfs(there.get()) == 0 ? 0 : 1;
}

}  // namespace

bool Server::is_layer_server(Client& client, std::uint32_t seq) {
  if (client.caller.is_server) return true;
  refuse(client, seq, Error(Errc::kPolicy, "layers are servers' only"));
  return false;
}

void Server::answer(Client& client, std::uint32_t seq, const Result<>& outcome) {
  if (!outcome) return refuse(client, seq, outcome.error());
  say(client, wire::Done{seq});
}

void Server::keep_layer(Client& client, wire::KeepLayer request) {
  if (!is_layer_server(client, request.seq)) return;
  const std::string id = request.record.id;
  const auto refuse_it = [&](Errc code, const char* why) {
    refuse(client, request.seq, Error(code, "layer " + id + ": " + why));
  };
  const bool is_kept = std::any_of(keepings_.begin(), keepings_.end(),
                                   [&](const Keeping& one) { return one.record.id == id; });
  if (is_kept) return refuse_it(Errc::kConflict, "it is being kept already");
  const LayerShelf::Staged state = maker_.shelf().staged(id, &client);
  if (state == LayerShelf::Staged::kNone) return refuse_it(Errc::kNotFound, "it was not begun");
  if (state == LayerShelf::Staged::kMaking) {
    // One that was told to end may take a moment.
    const bool is_ending =
        std::any_of(sandboxes_.begin(), sandboxes_.end(), [&id](const auto& entry) {
          return entry.second.layer == id && entry.second.sandbox.is_ending();
        });
    if (!is_ending) return refuse_it(Errc::kConflict, "its sandbox has not ended");
  }
  keepings_.push_back(
      {&client, request.seq, std::move(request.record), Clock::now() + kKeptWithin});
}

// Nothing: it is not over yet.
std::optional<Result<>> Server::go_on_keeping(Keeping& keeping, Clock::time_point now) {
  LayerShelf& shelf = maker_.shelf();
  const std::string& id = keeping.record.id;
  const bool out_of_time = now >= keeping.until;
  if (shelf.staged(id, keeping.client) == LayerShelf::Staged::kMaking && !out_of_time) {
    return std::nullopt;
  }
  if (!keeping.writing_out) {
    const std::string path = shelf.path_of_staged(id);
    auto begun = Chore::start([&path] { return write_out(path); });
    if (begun) keeping.writing_out.emplace(std::move(*begun));
  }
  // A layer is compared with its digest when the host has been started again: where the disk is
  // slow that is enough.
  if (keeping.writing_out && !out_of_time && !keeping.writing_out->is_over(0)) return std::nullopt;
  return shelf.keep(keeping.record, keeping.client);
}

void Server::note_layer(Client& client, wire::NoteLayer request) {
  if (!is_layer_server(client, request.seq)) return;
  answer(client, request.seq, maker_.shelf().note(request.id, std::move(request.note)));
}

void Server::drop_layer(Client& client, const wire::DropLayer& request) {
  if (!is_layer_server(client, request.seq)) return;
  const Dropping dropping{&client, request.seq, request.id, Clock::now() + kDroppedWithin};
  const bool has_room = droppings_.size() < kMostDroppings;
  if (const auto outcome =
          go_on_dropping(dropping, has_room ? Clock::now() : Clock::time_point::max())) {
    return answer(client, request.seq, *outcome);
  }
  droppings_.push_back(dropping);
}

// Nothing: whoever has it may be about to let go.
std::optional<Result<>> Server::go_on_dropping(const Dropping& dropping, Clock::time_point now) {
  Result<> outcome = maker_.shelf().drop(dropping.id);
  const bool in_use = !outcome && outcome.error().code() == Errc::kConflict;
  if (in_use && now < dropping.until && is_anything_dying()) return std::nullopt;
  return outcome;
}

bool Server::is_anything_dying() const {
  return !maker_.jails().remains().empty() ||
         std::any_of(sandboxes_.begin(), sandboxes_.end(),
                     [](const auto& entry) { return entry.second.sandbox.is_ending(); });
}

void Server::go_on_with_layers() {
  maker_.shelf().removals().look();
  if (keepings_.empty() && droppings_.empty()) return;
  const Clock::time_point now = Clock::now();
  struct Over {
    Client* client;
    std::uint32_t seq;
    Result<> outcome;
  };
  std::vector<Over> over;  // who is answered may be dropped, and what he waited for with him
  for (auto at = keepings_.begin(); at != keepings_.end();) {
    const auto one = at++;
    auto outcome = go_on_keeping(*one, now);
    if (!outcome) continue;
    over.push_back({one->client, one->seq, std::move(*outcome)});
    keepings_.erase(one);
  }
  for (auto at = droppings_.begin(); at != droppings_.end();) {
    const auto one = at++;
    auto outcome = go_on_dropping(*one, now);
    if (!outcome) continue;
    over.push_back({one->client, one->seq, std::move(*outcome)});
    droppings_.erase(one);
  }
  for (const Over& one : over) answer(*one.client, one.seq, one.outcome);
}

void Server::list_layers(Client& client, std::uint32_t seq) {
  if (!is_layer_server(client, seq)) return;
  if (client.layer_listing) {
    return refuse(client, seq, Error(Errc::kConflict, "one list at a time"));
  }
  const std::vector<std::string> ids = maker_.shelf().ids();
  client.layer_listing.emplace(LayerListing{seq, {ids.begin(), ids.end()}});
  go_on_listing_layers(client);
}

// As much as it takes, and no more than a few at a time.
void Server::go_on_listing_layers(Client& client) {
  if (client.gone || !client.layer_listing) return;
  const std::uint32_t seq = client.layer_listing->seq;
  std::deque<std::string>& left = client.layer_listing->left;
  const auto tell = [&client](const wire::LauncherReply& reply) {
    return send_message(client.socket.get(), wire::encode(reply));
  };
  for (std::size_t told = 0; !left.empty(); ++told, left.pop_front()) {
    if (told >= kListedAtOnce) return;
    auto record = maker_.shelf().record(left.front());
    if (!record) continue;  // it has gone meanwhile
    const auto sent = tell(wire::LayerListed{seq, std::move(*record)});
    if (!sent && sent.error().sys_errno() == EAGAIN) return;
    if (!sent) return drop(client);
  }
  const auto sent = tell(wire::Done{seq});
  if (!sent && sent.error().sys_errno() == EAGAIN) return;
  client.layer_listing.reset();
  if (!sent) drop(client);
}

void Server::tidy_layers(Clock::time_point now) {
  LayerShelf& shelf = maker_.shelf();
  shelf.tidy(now, [this](const std::string& id) {
    return std::any_of(keepings_.begin(), keepings_.end(),
                       [&id](const Keeping& one) { return one.record.id == id; });
  });
  // What a sandbox writes there is bounded by the server that fills it; this is for the host.
  for (const std::string& id : shelf.without_room()) {
    for (auto& [name, owned] : sandboxes_) {
      if (owned.layer != id || owned.sandbox.is_ending()) continue;
      log::warn("the disk is full; a sandbox that makes a layer ends", {{"sandbox", name}});
      owned.sandbox.kill(EndReason::kDestroyed);
    }
  }
}

void Server::forget_layers_of(Client& client) {
  keepings_.remove_if([&client](const Keeping& one) { return one.client == &client; });
  droppings_.remove_if([&client](const Dropping& one) { return one.client == &client; });
  maker_.shelf().owner_gone(&client);
}

void Server::add_layer_events(std::vector<pollfd>& events) const {
  maker_.shelf().removals().add_events(events);
  for (const Keeping& one : keepings_) {
    if (one.writing_out) events.push_back({one.writing_out->pidfd(), POLLIN, 0});
  }
}

std::optional<Clock::time_point> Server::next_layer_look() const {
  if (!droppings_.empty()) return Clock::now() + kLookWhileDropping;
  return maker_.shelf().next_due();
}

}  // namespace glovebox::launcher
