// Which layers there are and what is known of them: the launcher's list with the notes in it, which
// other servers of this host write, too. Remembers what wishes came to while that holds, and for a
// short while what could not be built. Single-threaded, as everything here.
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

struct MemoryOptions {
  std::chrono::milliseconds resolve_ttl{};
  std::chrono::milliseconds failure_ttl{};
  // Asked again at most so often for what is not known; another server may have made it.
  std::chrono::milliseconds refresh_every{3'000};
  std::function<std::int64_t()> now_ms;  // since 1970; tests have their own
};

class LayerIndex {
 public:
  struct Known {
    LayerRecord record;
    std::optional<LayerManifest> note{};  // nothing: it cannot be read, and the layer is never used
    bool usable() const { return note.has_value() && !note->corrupt; }
  };

  LayerIndex(asio::io_context& io, node::LayerService& service, MemoryOptions options)
      : io_(io), service_(service), options_(std::move(options)) {}

  // From the launcher. Those who ask at the same time share one question.
  Task<> load();
  // The same, unless it was done a moment ago and nothing has happened since.
  Task<> load_if_due();
  // Another launcher is there.
  void expire() { loaded_ms_.reset(); }
  bool loaded() const { return loaded_ms_.has_value(); }

  // Null: there is none. Good until the caller awaits something.
  const Known* find(const std::string& id) const;
  const std::map<std::string, Known>& all() const { return all_; }

  struct Remembered {
    std::string layer;
    std::int64_t resolved_ms = 0;
    bool fresh = false;  // it need not be resolved again
  };
  // What a wish last came to, of layers that can be used.
  std::optional<Remembered> recall(const std::string& spec) const;

  // One that was just made.
  void add(LayerRecord record);
  // Writes it with the launcher. One that is gone there is gone here.
  Task<> write_note(std::string id, LayerManifest note);
  // kConflict: it is in use. One that is gone already is dropped all the same.
  Task<> drop(std::string id);
  // It is not there, as somebody has found out.
  void forget(const std::string& id) { erase(id); }

  void remember_failure(const std::string& spec, const Error& error);
  std::optional<Error> failure_of(const std::string& spec) const;

  // The longest unused first; corrupt ones before all others. `but`: not this one.
  std::vector<std::string> oldest_first(const std::string& but) const;
  std::uint64_t bytes() const;

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
  MemoryOptions options_;
  std::map<std::string, Known> all_;  // by id
  // By spec, from the notes; made when it is asked for and something has changed.
  mutable std::map<std::string, Resolved, std::less<>> resolved_;
  mutable bool is_indexed_ = false;
  std::map<std::string, Failure> failures_;
  std::shared_ptr<Loading> loading_;
  std::optional<std::int64_t> loaded_ms_;
};

}  // namespace glovebox::packages
