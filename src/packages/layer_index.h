// The index of package layers: the launcher's list and the manifests in it, which other servers of
// this host write, too. Maps requests to the layers they resolved to, and remembers failed builds
// for a short time. Single-threaded.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "model/layer.h"
#include "node/async/notifier.h"
#include "node/layers/layer_service.h"
#include "packages/layer_manifest.h"

namespace glovebox::packages {

struct LayerIndexOptions {
  std::chrono::milliseconds resolve_ttl{};
  std::chrono::milliseconds failure_ttl{};
  // Minimum time between two lists for unknown layers; another server may have made one.
  std::chrono::milliseconds refresh_every{3'000};
  std::function<std::int64_t()> now_ms;  // since 1970; tests replace it
};

class LayerIndex {
 public:
  struct Known {
    LayerRecord record;
    std::optional<LayerManifest> manifest{};  // nullopt: unreadable, so the layer is never used
    bool usable() const { return manifest.has_value() && !manifest->corrupt; }
  };

  LayerIndex(asio::io_context& io, node::LayerService& service, LayerIndexOptions options)
      : io_(io), service_(service), options_(std::move(options)) {}

  // Lists the layers of the launcher. Concurrent callers share one request.
  Task<> load();
  // The same, unless the list is younger than refresh_every.
  Task<> load_if_due();
  // Call this when a new launcher is attached.
  void expire() { loaded_ms_.reset(); }
  bool loaded() const { return loaded_ms_.has_value(); }

  // Null: unknown layer. Valid until the caller awaits something.
  const Known* find(const std::string& id) const;
  const std::map<std::string, Known>& all() const { return all_; }

  struct Remembered {
    std::string layer;
    std::int64_t resolved_ms = 0;
    bool fresh = false;  // no need to resolve it again yet
  };
  // The usable layer that a request was last resolved to.
  std::optional<Remembered> recall(const std::string& spec) const;

  // Adds a layer that was just made.
  void add(LayerRecord record);
  // Writes it to the launcher. If the launcher lost the layer, it is removed here, too.
  Task<> write_manifest(std::string id, LayerManifest manifest);
  // kConflict: it is in use. Succeeds if the layer is gone already.
  Task<> drop(std::string id);
  // Removes a layer that the caller found missing.
  void forget(const std::string& id) { erase(id); }

  void remember_failure(const std::string& spec, const Error& error);
  std::optional<Error> failure_of(const std::string& spec) const;

  // Least recently used first, after all corrupt ones. `but` is left out.
  std::vector<std::string> oldest_first(const std::string& but) const;
  // Those that may give way when there is too much of `what`: of the project that has most of it,
  // the least recently used first. What several projects use counts as one project's of its own.
  enum class TooMuch : std::uint8_t { kBytes, kLayers };
  using Stays = std::function<bool(const Known& known)>;
  std::vector<std::string> eviction_order(TooMuch what, const Stays& stays) const;
  std::uint64_t bytes() const;
  // Of layers that no other project uses; their ids, the least recently used first.
  std::uint64_t bytes_of(const std::string& project) const;
  std::vector<std::string> layers_of(const std::string& project) const;

 private:
  struct Failure {
    Error error;
    std::int64_t until_ms = 0;
  };
  struct Loading {
    explicit Loading(asio::io_context& io) : notifier(io) {}
    node::Notifier notifier;
    std::optional<Result<>> done;
  };

  struct Resolved {
    std::string layer;
    std::int64_t at_ms = 0;
  };
  void erase(const std::string& id);
  void index() const;

  asio::io_context& io_;
  node::LayerService& service_;
  LayerIndexOptions options_;
  std::map<std::string, Known> all_;  // by id
  // By spec, from the manifests; rebuilt lazily after a change.
  mutable std::map<std::string, Resolved, std::less<>> resolved_;
  mutable bool is_indexed_ = false;
  std::map<std::string, Failure> failures_;
  std::shared_ptr<Loading> loading_;
  std::optional<std::int64_t> loaded_ms_;
};

}  // namespace glovebox::packages
