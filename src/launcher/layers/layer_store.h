// The layers that this host keeps for its servers: a root-owned directory that only the launcher
// can look into, shared by all launchers that are given the same one. Sandboxes write the contents
// of a layer; the launcher only mounts, renames and removes it, and never looks inside.
//
//   <layers_dir>/sets/<id>/tree      what is mounted
//   <layers_dir>/sets/<id>/record    see layer_record.h
//   <layers_dir>/sets/<id>/used      empty; its mtime is the time of the last use
//   <layers_dir>/sets/new-<id>/tree  a layer that is being made
//   <layers_dir>/sets/gone-...       being removed
//
// A user of a layer holds a shared lock on its directory; making or removing one takes the
// exclusive lock. So launchers need not know of each other, and locks of a dead one are released.
// Used on the launcher's one thread; removing trees is left to a child process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/layers/disk_tasks.h"
#include "model/layer.h"

namespace glovebox::launcher {

// The layer is not removed while a LayerRef to it exists.
struct LayerHandle {
  std::string id;
  std::string tree;
  UniqueFd lock{};
};
using LayerRef = std::shared_ptr<const LayerHandle>;

class LayerStore {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxLayers = 4096;
  static constexpr std::size_t kMaxStaged = 64;  // begun by this launcher
  // A layer that was made and not kept is removed after this.
  static constexpr std::chrono::seconds kKeepTimeout{60};
  static constexpr std::chrono::seconds kTouchInterval{60};

  // Creates nothing before it is needed.
  explicit LayerStore(const std::string& layers_dir);
  LayerStore(const LayerStore&) = delete;
  LayerStore& operator=(const LayerStore&) = delete;

  // Removes what dead launchers left unfinished, and layers without a valid record.
  void sweep();

  enum class Counts : bool { kNo, kYes };  // whether it updates the time of the last use
  // kNotFound; kUnavailable: it is just being removed.
  Result<LayerRef> use(const std::string& id, Counts counts);
  // Uses those of these directories that are trees of layers. kNotFound: one was removed.
  Result<std::vector<LayerRef>> use_trees(const std::vector<std::string>& layers);

  // An empty layer for a sandbox to fill. Only the sandbox may hold the returned reference; only
  // `owner` may keep the layer. kConflict: it exists or is being made.
  Result<LayerRef> begin(const std::string& id, const void* owner);
  // Whether `owner` has begun this layer, and whether its sandbox has ended.
  enum class Staged : std::uint8_t { kNone, kMaking, kMade };
  Staged staged(const std::string& id, const void* owner) const;
  // Turns what a sandbox has made into a layer. The record is on the disk when this returns; the
  // caller syncs the files first (path_of_staged).
  Result<> keep(LayerRecord record, const void* owner);
  std::string path_of_staged(const std::string& id) const;
  // What this owner has begun will not be kept.
  void owner_gone(const void* owner);

  Result<> note(const std::string& id, std::string note);
  // kConflict: it is in use, or its sandbox has not ended; kNotFound.
  Result<> drop(const std::string& id);
  // kNotFound also when its record is invalid.
  Result<LayerRecord> record(const std::string& id);
  std::vector<std::string> ids();

  // Called periodically: removes staged layers that were not kept. `is_awaited`: a request to keep
  // this one is pending.
  void tidy(Clock::time_point now, const std::function<bool(const std::string&)>& is_awaited);
  // The layers that are being made, if the disk is almost full; else none.
  std::vector<std::string> without_room() const;
  std::optional<Clock::time_point> next_due() const;
  TreeRemover& remover() { return remover_; }

 private:
  struct Making {
    UniqueFd lock;
    std::weak_ptr<const LayerHandle> sandbox;
    const void* owner = nullptr;  // null: it has gone
    std::optional<Clock::time_point> ended_at{};
  };
  enum class IfMissing : bool { kFail, kMake };
  Result<int> open(IfMissing missing);
  Result<UniqueFd> open_kept(const std::string& id, int lock);
  Result<UniqueFd> open_tree(int layer) const;
  Result<> discard(const std::string& name);
  void sweep_one(const std::string& name);
  void touch(const std::string& id, int layer);
  bool is_held(const std::string& id) const;
  bool has_room() const;

  std::string sets_;
  UniqueFd dir_;
  std::map<std::string, Making> making_;                          // by id
  std::map<std::string, std::weak_ptr<const LayerHandle>> held_;  // by id
  std::map<std::string, Clock::time_point> touched_;              // by id
  TreeRemover remover_;
};

}  // namespace glovebox::launcher
