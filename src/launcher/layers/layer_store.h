// The layers that this host keeps for its servers: a directory of root's that nobody else can look
// into, shared by all launchers that are given the same one. What is in a layer was written by a
// sandbox; here it is mounted, renamed and removed, and never looked into.
//
//   <layers_dir>/sets/<id>/tree      what is mounted
//   <layers_dir>/sets/<id>/record    see layer_record.h
//   <layers_dir>/sets/<id>/used      empty; its time is that of the last use
//   <layers_dir>/sets/new-<id>/tree  one that is being made
//   <layers_dir>/sets/gone-...       on its way out
//
// Who uses a layer has a shared lock on its directory, and who makes or removes one the only one,
// so that launchers need not know of each other, and nothing of a dead one's is in the way.
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

// A layer stays where it is for as long as anybody has this.
struct LayerUse {
  std::string id;
  std::string tree;
  UniqueFd lock{};
};
using LayerHeld = std::shared_ptr<const LayerUse>;

class LayerShelf {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 4096;      // kept
  static constexpr std::size_t kMostStaged = 64;  // begun by this launcher
  // One that was made and not kept goes after this.
  static constexpr std::chrono::seconds kKeptWithin{60};
  static constexpr std::chrono::seconds kTouchedEvery{60};

  // Nothing is made there before it is needed.
  explicit LayerShelf(const std::string& layers_dir);
  LayerShelf(const LayerShelf&) = delete;
  LayerShelf& operator=(const LayerShelf&) = delete;

  // What dead launchers left unfinished, and layers without a good record, go.
  void sweep();

  enum class Counts : bool { kNo, kYes };  // as a use, by which old ones are told from others
  // kNotFound; kUnavailable: it is just being removed.
  Result<LayerHeld> use(const std::string& id, Counts counts);
  // Those of these directories that are ours, each once more. kNotFound: one is gone.
  Result<std::vector<LayerHeld>> use_trees(const std::vector<std::string>& layers);

  // An empty one, for a sandbox to fill: what is given back is that sandbox's, and no longer. Whose
  // it is may keep it. kConflict: it is there, or being made.
  Result<LayerHeld> begin(const std::string& id, const void* owner);
  // Whether `owner` has begun this, and whether its sandbox is gone.
  enum class Staged : std::uint8_t { kNone, kMaking, kMade };
  Staged staged(const std::string& id, const void* owner) const;
  // What a sandbox has made becomes a layer; on the disk when this returns, so have the disk
  // written out before (path_of_staged).
  Result<> keep(LayerRecord record, const void* owner);
  std::string path_of_staged(const std::string& id) const;
  // Nobody will keep what it has begun.
  void owner_gone(const void* owner);

  Result<> note(const std::string& id, std::string note);
  // kConflict: it is in use, or its sandbox lives; kNotFound.
  Result<> drop(const std::string& id);
  // kNotFound also when its record is broken.
  Result<LayerRecord> record(const std::string& id);
  std::vector<std::string> ids();

  // From time to time: what was not kept goes. `is_awaited`: somebody is about to keep it.
  void tidy(Clock::time_point now, const std::function<bool(const std::string&)>& is_awaited);
  // Those that are being made while the disk is all but full.
  std::vector<std::string> without_room() const;
  std::optional<Clock::time_point> next_due() const;
  Removals& removals() { return removals_; }

 private:
  struct Making {
    UniqueFd lock;
    std::weak_ptr<const LayerUse> sandbox;
    const void* owner = nullptr;  // null: it is gone
    std::optional<Clock::time_point> ended_at{};
  };
  enum class IfMissing : bool { kFail, kMake };
  Result<int> open(IfMissing missing);
  Result<UniqueFd> open_kept(const std::string& id, int lock);
  Result<UniqueFd> open_tree(int layer) const;
  Result<> bury(const std::string& name);
  void sweep_one(const std::string& name);
  void touch(const std::string& id, int layer);
  bool is_held(const std::string& id) const;
  bool has_room() const;

  std::string sets_;
  UniqueFd dir_;
  std::map<std::string, Making> making_;                       // by id
  std::map<std::string, std::weak_ptr<const LayerUse>> held_;  // by id
  std::map<std::string, Clock::time_point> touched_;           // by id
  Removals removals_;
};

}  // namespace glovebox::launcher
