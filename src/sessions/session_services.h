// Everything a server needs for its sessions, built in order: the registry first, then the
// classes that change sessions, then the reconciler that maintains them.
#pragma once

#include "sessions/session_creator.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_networks.h"
#include "sessions/session_options.h"
#include "sessions/session_reconciler.h"
#include "sessions/session_registry.h"
#include "sessions/session_sampler.h"
#include "sessions/session_snapshots.h"

namespace glovebox::sessions {

// What the node and the rest of the server provide. Borrowed; must outlive the services.
struct SessionServicesDependencies {
  asio::io_context& io;
  node::SessionService& service;
  const node::RunService& node;
  node::NetworkService& networks;
  store::Store& store;
  store::KeyUsage& usage;
  events::EventHub& events;
  const templates::ProjectTemplates& templates;
  snapshots::SnapshotStore& snapshots;
};

class SessionServices {
 public:
  SessionServices(const SessionServicesDependencies& on, SessionOptions options)
      : usage_(on.usage),
        options_(std::move(options)),
        registry(on.io, on.service, on.node, on.store, on.events),
        networks(registry, on.service, on.networks, options_.ceiling),
        lifecycle(registry, on.service, networks, options_),
        creator({on.io, registry, lifecycle, on.service, on.node, on.templates, on.snapshots,
                 on.store, on.usage},
                options_),
        snapshots(registry, on.snapshots),
        sampler(on.io, registry, on.service, options_.sample_every),
        reconciler(on.io, registry, lifecycle, networks, on.service, options_) {}

  // Loads the stored sessions and starts to maintain them. Call once. Blocks on the store.
  Result<> start() {
    TRY_OK(registry.load(usage_));
    reconciler.start();
    sampler.start();
    return {};
  }
  // Called when the server stops; its sessions keep running.
  void stop() {
    reconciler.stop();
    sampler.stop();
  }

 private:
  store::KeyUsage& usage_;
  const SessionOptions options_;

 public:
  SessionRegistry registry;
  SessionNetworks networks;
  SessionLifecycle lifecycle;
  SessionCreator creator;
  SessionSnapshots snapshots;
  SessionSampler sampler;
  SessionReconciler reconciler;
};

}  // namespace glovebox::sessions
