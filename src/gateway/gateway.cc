#include "gateway/gateway.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/log.h"

namespace glovebox::gateway {
namespace {

// How many pipes and relays fit into so many descriptors. A relay and a pipe have two each, a
// network has three, a query to a resolver one.
struct Room {
  std::size_t pipes = 0;
  std::size_t relays = 0;
  std::size_t networks = 0;
};

Room room_for(std::size_t descriptors) {
  Room room;
  room.pipes = std::min<std::size_t>(1024, descriptors / 8);
  const std::size_t others = std::min<std::size_t>(16 * 1024, descriptors / 4);
  room.networks = std::min(wire::kMaxNetworks, others / 4);
  room.relays = (descriptors - 2 * room.pipes - others) / 2;
  return room;
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return std::min<std::size_t>(limit.rlim_cur, 1 << 20);
}

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::make(asio::io_context& io, GatewayOptions options) {
  const Room room = room_for(descriptor_limit());
  TRY(auto relays, Relays::make(io, room.pipes));
  TRY(auto own, OwnAddresses::open());
  return std::unique_ptr<Gateway>(new Gateway(io, std::move(options), std::move(relays),
                                              std::make_unique<OwnAddresses>(std::move(own)),
                                              room.networks, room.relays));
}

Gateway::Gateway(asio::io_context& io, GatewayOptions options, std::unique_ptr<Relays> relays,
                 std::unique_ptr<OwnAddresses> own, std::size_t max_networks,
                 std::size_t max_open_of_all)
    : io_(io),
      relays_(std::move(relays)),
      own_addresses_(std::move(own)),
      resolver_(io, std::move(options.resolver)),
      hosts_(std::move(options.hosts)),
      max_networks_(max_networks),
      shared_{.io = io,
              .relays = *relays_,
              .resolver = resolver_,
              .own_addresses = *own_addresses_,
              .hosts = hosts_,
              .ceiling = std::move(options.ceiling),
              .build_ceiling = {},
              .max_open = options.max_open,
              .max_open_of_all = max_open_of_all,
              .setting_up = std::make_shared<std::size_t>(0),
              .server_port = options.server_port} {
  if (options.build_ceiling) {
    shared_.build_ceiling = std::move(*options.build_ceiling);
  } else {
    no_builds_ = std::move(options.build_ceiling.error());
  }
}

Gateway::~Gateway() {
  for (auto& [id, entry] : networks_) {
    entry.network->on_decided = nullptr;
    entry.network->on_ended = nullptr;
    entry.network->close();
  }
}

wire::GatewayReply Gateway::answer(wire::GatewayRequest request, std::vector<UniqueFd> fds) {
  const auto refused = [](std::uint32_t seq, const Error& error) {
    return wire::NetworkRefused{seq, error.code(), error.message()};
  };
  const auto done = [&](std::uint32_t seq, const Result<>& result) -> wire::GatewayReply {
    if (!result) return refused(seq, result.error());
    return wire::GatewayDone{seq};
  };
  if (auto* open_it = std::get_if<wire::OpenNetwork>(&request)) {
    const std::uint32_t seq = open_it->seq;
    return done(seq, open(std::move(*open_it), std::move(fds)));
  }
  if (auto* change_it = std::get_if<wire::ChangePolicy>(&request)) {
    const std::uint32_t seq = change_it->seq;
    return done(seq, change(std::move(*change_it)));
  }
  if (const auto* read_it = std::get_if<wire::ReadNetwork>(&request)) {
    auto report = read(*read_it);
    if (!report) return refused(read_it->seq, report.error());
    return std::move(*report);
  }
  return list(std::get<wire::ListNetworks>(request).seq);
}

Result<> Gateway::open(wire::OpenNetwork request, std::vector<UniqueFd> fds) {
  if (fds.size() != 3)
    return fail(Errc::kProtocol,
                "OpenNetwork needs three descriptors, not " + std::to_string(fds.size()));
  if (request.is_build && no_builds_) return fail(*no_builds_);
  TRY_OK(net::check_within(request.policy,
                           request.is_build ? shared_.build_ceiling : shared_.ceiling));
  const auto known = networks_.find(request.id);
  const bool is_new = known == networks_.end();
  if (is_new && networks_.size() >= max_networks_) {
    return fail(Errc::kResourceExhausted,
                "the gateway has " + std::to_string(networks_.size()) + " networks, its limit");
  }
  // The cache of resolver answers belongs to a tenant, so a network cannot change its tenant.
  if (!is_new && known->second.network->tenant() != request.tenant) {
    return fail(Errc::kConflict, "the sandbox's network belongs to another tenant");
  }
  if (!is_new && known->second.network->is_build() != request.is_build) {
    return fail(Errc::kConflict, "a network cannot change between build and other use");
  }
  Entry& entry = is_new ? make_entry(request) : known->second;
  NetworkSockets sockets{std::move(fds[0]), std::move(fds[1]), std::move(fds[2])};
  auto opened = entry.network->open(std::move(sockets), std::move(request.policy));
  if (!opened) {
    if (is_new) networks_.erase(request.id);
    return opened;
  }
  entry.forget.reset();
  return {};
}

Gateway::Entry& Gateway::make_entry(const wire::OpenNetwork& request) {
  const SandboxId id = request.id;
  const Network::Purpose purpose =
      request.is_build ? Network::Purpose::kBuild : Network::Purpose::kAny;
  auto network = std::make_shared<Network>(shared_, id, request.tenant, purpose);
  network->on_decided = [this, id](const wire::NetDecision& decision) {
    if (on_decided) on_decided(wire::NetworkDecided{id, decision});
  };
  network->on_ended = [this, id] { ended(id); };
  return networks_.emplace(id, Entry{std::move(network), nullptr}).first->second;
}

Result<> Gateway::change(wire::ChangePolicy request) {
  TRY(Entry * entry, find(request.id));
  TRY_OK(net::check_within(request.policy, entry->network->ceiling()));
  if (!entry->network->is_open()) return fail(Errc::kNotFound, "the sandbox has ended");
  entry->network->change_policy(std::move(request.policy));
  return {};
}

Result<wire::NetworkReport> Gateway::read(const wire::ReadNetwork& request) {
  TRY(Entry * entry, find(request.id));
  if (request.close) entry->network->close();
  wire::NetworkReport report = entry->network->report(request.seq);
  if (request.close) networks_.erase(request.id);
  return report;
}

wire::NetworksListed Gateway::list(std::uint32_t seq) const {
  wire::NetworksListed listed{seq, {}};
  for (const auto& [id, entry] : networks_) {
    if (entry.network->is_open()) listed.ids.push_back(id);
  }
  return listed;
}

Result<Gateway::Entry*> Gateway::find(const SandboxId& id) {
  const auto found = networks_.find(id);
  if (found == networks_.end()) {
    return fail(Errc::kNotFound, "the gateway has no network for this sandbox");
  }
  return &found->second;
}

// The totals are kept for a while, for a server that reads them at the end.
void Gateway::ended(const SandboxId& id) {
  const auto found = networks_.find(id);
  if (found == networks_.end()) return;
  log::debug("a sandbox has ended", {{"sandbox", id.str()}});
  auto timer = std::make_unique<asio::steady_timer>(io_, kKept);
  timer->async_wait([this, id](const boost::system::error_code& error) {
    const auto known = networks_.find(id);
    if (error || known == networks_.end() || known->second.network->is_open()) return;
    networks_.erase(known);
  });
  found->second.forget = std::move(timer);
}

}  // namespace glovebox::gateway
