#include "launcher/layers/layer_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/id.h"
#include "base/log.h"
#include "launcher/layers/layer_record.h"

namespace glovebox::launcher {
namespace {

constexpr std::string_view kNew = "new-";
constexpr const char* kGone = "gone-";
constexpr const char* kTree = "tree";
constexpr const char* kUsed = "used";
constexpr std::uint64_t kLeastRoom = 256ull << 20;
// Somebody who only looks whether a layer is in use has its lock for a moment.
constexpr int kLockTries = 20;
constexpr int kLockPauseMs = 1;

std::string staged_name(const std::string& id) { return std::string(kNew) + id; }

UniqueFd open_directory(int at, const std::string& name) {
  return UniqueFd(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

bool is_still_called(int fd, int at, const std::string& name) {
  struct stat held {};
  struct stat named {};
  return ::fstat(fd, &held) == 0 && ::fstatat(at, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

bool try_lock(int fd, int lock) {
  for (int tries = 0; ::flock(fd, lock | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK || tries >= kLockTries) return false;
    ::poll(nullptr, 0, kLockPauseMs);
  }
  return true;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The time of its last use, if it has been used.
std::optional<std::int64_t> used_ms(int layer) {
  struct stat info {};
  if (::fstatat(layer, kUsed, &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

tl::unexpected<Error> not_there(const std::string& id) {
  return fail(Errc::kNotFound, "layer " + id + ": there is none");
}

// All names in a directory; those in ours are few and ours.
std::vector<std::string> names_in(int dir) {
  std::vector<std::string> names;
  UniqueFd copy = open_directory(dir, ".");
  DIR* listing = copy ? ::fdopendir(copy.get()) : nullptr;
  if (listing == nullptr) return names;
  (void)copy.release();
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(listing);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

LayerShelf::LayerShelf(const std::string& layers_dir)
    : sets_(layers_dir + "/sets"), removals_(sets_, kGone) {}

Result<int> LayerShelf::open(IfMissing missing) {
  if (dir_) return dir_.get();
  if (missing == IfMissing::kMake) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(sets_).parent_path(), error);
    if (::mkdir(sets_.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(Error::from_errno("make " + sets_));
    }
  }
  UniqueFd dir = open_directory(AT_FDCWD, sets_);
  if (!dir && errno == ENOENT) return fail(Errc::kNotFound, "there are no layers");
  if (!dir) return fail(Error::from_errno("open " + sets_));
  struct stat info {};
  if (::fstat(dir.get(), &info) != 0) return fail(Error::from_errno("look at " + sets_));
  if (info.st_uid != ::geteuid()) {
    return fail(Errc::kPermissionDenied, sets_ + " must be a directory of ours");
  }
  // Nobody but us and what we mount comes to a file in a layer, whatever its mode.
  if ((info.st_mode & 0777) != 0700 && ::fchmod(dir.get(), 0700) != 0) {
    return fail(Error::from_errno("chmod " + sets_));
  }
  dir_ = std::move(dir);
  return dir_.get();
}

void LayerShelf::sweep() {
  const auto dir = open(IfMissing::kFail);
  if (!dir) return;
  bool any_gone = false;
  for (const std::string& name : names_in(*dir)) {
    if (name.starts_with(kGone)) {
      any_gone = true;
    } else {
      sweep_one(name);
    }
  }
  if (any_gone) removals_.begin();
}

void LayerShelf::sweep_one(const std::string& name) {
  const bool staged =
      name.starts_with(kNew) && is_layer_id(std::string_view(name).substr(kNew.size()));
  if (!staged && !is_layer_id(name)) return;  // not ours to touch
  const UniqueFd layer = open_directory(dir_.get(), name);
  if (!layer || ::flock(layer.get(), LOCK_EX | LOCK_NB) != 0) return;  // somebody's
  if (!is_still_called(layer.get(), dir_.get(), name)) return;
  if (!staged && read_record(layer.get()) && open_tree(layer.get())) return;
  log::warn(staged ? "a layer that was never finished goes" : "a layer without a good record goes",
            {{"layer", name}});
  if (auto buried = bury(name); !buried) {
    log::warn("a layer was not removed", {{"error", buried.error().message()}});
  }
}

// Under another name it is nobody's, and a child of ours removes it.
Result<> LayerShelf::bury(const std::string& name) {
  const std::string gone = kGone + random_label(16);
  if (::renameat(dir_.get(), name.c_str(), dir_.get(), gone.c_str()) != 0) {
    return fail(Error::from_errno("remove layer " + name));
  }
  removals_.begin();
  return {};
}

bool LayerShelf::is_held(const std::string& id) const {
  const auto held = held_.find(id);
  return held != held_.end() && !held->second.expired();
}

// Its directory, locked: nobody removes it while that is open.
Result<UniqueFd> LayerShelf::open_kept(const std::string& id, int lock) {
  if (!is_layer_id(id)) return fail(Errc::kInvalidArgument, "not a layer's id");
  auto dir = open(IfMissing::kFail);
  if (!dir && dir.error().code() == Errc::kNotFound) return not_there(id);
  if (!dir) return fail(std::move(dir.error()));
  UniqueFd layer = open_directory(*dir, id);
  if (!layer && errno == ENOENT) return not_there(id);
  if (!layer) return fail(Error::from_errno("layer " + id));
  if (!try_lock(layer.get(), lock)) {
    return fail(lock == LOCK_EX ? Errc::kConflict : Errc::kUnavailable,
                "layer " + id + (lock == LOCK_EX ? ": it is in use" : ": it is being removed"));
  }
  if (!is_still_called(layer.get(), *dir, id)) return not_there(id);
  return layer;
}

// A layer is as good as a program of root's: whoever may write it is in every sandbox made of it.
Result<UniqueFd> LayerShelf::open_tree(int layer) const {
  UniqueFd tree = open_directory(layer, kTree);
  if (!tree) return fail(Error::from_errno("open a layer's tree"));
  struct stat info {};
  if (::fstat(tree.get(), &info) != 0 || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return fail(Errc::kPolicy, "a layer's tree must be root's, and writable by root only");
  }
  return tree;
}

Result<LayerHeld> LayerShelf::use(const std::string& id, Counts counts) {
  if (const auto known = held_.find(id); known != held_.end()) {
    if (LayerHeld held = known->second.lock()) {
      if (counts == Counts::kYes) touch(id, held->lock.get());
      return held;
    }
    held_.erase(known);
  }
  TRY(UniqueFd layer, open_kept(id, LOCK_SH));
  if (auto tree = open_tree(layer.get()); !tree) {
    return fail(std::move(tree.error()).context("layer " + id));
  }
  if (counts == Counts::kYes) touch(id, layer.get());
  auto held =
      std::make_shared<LayerUse>(LayerUse{id, sets_ + "/" + id + "/" + kTree, std::move(layer)});
  held_[id] = held;
  return held;
}

Result<std::vector<LayerHeld>> LayerShelf::use_trees(const std::vector<std::string>& layers) {
  std::vector<LayerHeld> all;
  const std::string before = sets_ + "/";
  const std::string behind = std::string("/") + kTree;
  for (const std::string& layer : layers) {
    if (layer.size() != before.size() + kLayerIdSize + behind.size() ||
        !layer.starts_with(before) || !layer.ends_with(behind)) {
      continue;
    }
    TRY(LayerHeld held, use(layer.substr(before.size(), kLayerIdSize), Counts::kYes));
    all.push_back(std::move(held));
  }
  return all;
}

// To the minute: many sandboxes are made in one.
void LayerShelf::touch(const std::string& id, int layer) {
  const Clock::time_point now = Clock::now();
  const auto last = touched_.find(id);
  if (last != touched_.end() && now < last->second + kTouchedEvery) return;
  if (touched_.size() > kMost) touched_.clear();
  touched_[id] = now;
  const UniqueFd used(
      ::openat(layer, kUsed, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!used || ::futimens(used.get(), nullptr) != 0) {
    log::warn("a layer's use is not noted", {{"layer", id}});
  }
}

bool LayerShelf::has_room() const {
  struct statvfs room {};
  if (::fstatvfs(dir_.get(), &room) != 0) return true;
  return static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize >= kLeastRoom;
}

Result<LayerHeld> LayerShelf::begin(const std::string& id, const void* owner) {
  if (!is_layer_id(id)) return fail(Errc::kInvalidArgument, "not a layer's id");
  TRY(const int dir, open(IfMissing::kMake));
  const auto being_made = [&id] {
    return fail(Errc::kConflict, "layer " + id + ": it is being made");
  };
  const std::string name = staged_name(id);
  if (const auto known = making_.find(id); known != making_.end()) {
    if (!known->second.sandbox.expired()) return being_made();
    TRY_OK(bury(name));  // nothing came of it
    making_.erase(known);
  }
  if (making_.size() >= kMostStaged) {
    return fail(Errc::kResourceExhausted, "too many layers are being made");
  }
  struct stat info {};
  if (::fstatat(dir, id.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return fail(Errc::kConflict, "layer " + id + ": there is one already");
  }
  if (ids().size() >= kMost) {
    return fail(Errc::kResourceExhausted,
                "this host keeps " + std::to_string(kMost) + " layers, and no more may be");
  }
  if (!has_room()) {
    return fail(Errc::kResourceExhausted, "the disk of " + sets_ + " is full");
  }
  constexpr int kTries = 3;
  for (int tries = 0; tries < kTries; ++tries) {
    const bool made = ::mkdirat(dir, name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return fail(Error::from_errno("make layer " + id));
    UniqueFd lock = open_directory(dir, name);
    if (!lock) continue;                                                   // somebody has swept it
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return being_made();  // by another launcher
    if (!is_still_called(lock.get(), dir, name)) continue;
    if (!made) {
      TRY_OK(bury(name));  // a dead one's
      continue;
    }
    if (::mkdirat(lock.get(), kTree, 0755) != 0) {
      return fail(Error::from_errno("make layer " + id));
    }
    auto held = std::make_shared<LayerUse>(LayerUse{id, sets_ + "/" + name + "/" + kTree});
    making_[id] = Making{std::move(lock), held, owner};
    return held;
  }
  return fail(Errc::kUnavailable, "layer " + id + ": it could not be begun");
}

LayerShelf::Staged LayerShelf::staged(const std::string& id, const void* owner) const {
  const auto known = making_.find(id);
  if (known == making_.end() || known->second.owner != owner) return Staged::kNone;
  return known->second.sandbox.expired() ? Staged::kMade : Staged::kMaking;
}

std::string LayerShelf::path_of_staged(const std::string& id) const {
  return sets_ + "/" + staged_name(id);
}

Result<> LayerShelf::keep(LayerRecord record, const void* owner) {
  const std::string id = record.id;
  const Staged state = staged(id, owner);
  if (state == Staged::kNone) return fail(Errc::kNotFound, "layer " + id + ": it was not begun");
  if (state == Staged::kMaking) {
    return fail(Errc::kConflict, "layer " + id + ": its sandbox has not ended");
  }
  const Making& made = making_.find(id)->second;
  // Whatever was done to its top from inside.
  const UniqueFd tree = open_directory(made.lock.get(), kTree);
  if (!tree || ::fchmod(tree.get(), 0755) != 0) {
    return fail(Error::from_errno("look at layer " + id));
  }
  TRY_OK(open_tree(made.lock.get()));
  record.made_ms = now_ms();
  TRY_OK(write_record(made.lock.get(), record));
  // Another launcher may have kept the same one meanwhile.
  if (::renameat2(dir_.get(), staged_name(id).c_str(), dir_.get(), id.c_str(), RENAME_NOREPLACE) !=
      0) {
    if (errno == EEXIST) return fail(Errc::kConflict, "layer " + id + ": there is one already");
    return fail(Error::from_errno("keep layer " + id));
  }
  touched_.erase(id);
  touch(id, made.lock.get());
  making_.erase(id);
  if (::fsync(dir_.get()) != 0) return fail(Error::from_errno("keep layer " + id));
  return {};
}

void LayerShelf::owner_gone(const void* owner) {
  for (auto& [id, making] : making_) {
    if (making.owner == owner) making.owner = nullptr;
  }
}

Result<> LayerShelf::note(const std::string& id, std::string note) {
  TRY(const UniqueFd layer, open_kept(id, LOCK_SH));
  auto record = read_record(layer.get());
  if (!record) return fail(std::move(record.error()).context("layer " + id));
  record->note = std::move(note);
  return write_record(layer.get(), *record);
}

Result<> LayerShelf::drop(const std::string& id) {
  if (const auto known = making_.find(id); known != making_.end()) {
    if (!known->second.sandbox.expired()) {
      return fail(Errc::kConflict, "layer " + id + ": its sandbox has not ended");
    }
    TRY_OK(bury(staged_name(id)));
    making_.erase(known);
    return {};
  }
  if (is_held(id)) return fail(Errc::kConflict, "layer " + id + ": it is in use");
  TRY(const UniqueFd layer, open_kept(id, LOCK_EX));
  TRY_OK(bury(id));
  touched_.erase(id);
  return {};
}

Result<LayerRecord> LayerShelf::record(const std::string& id) {
  auto dir = open(IfMissing::kFail);
  if (!dir) return not_there(id);
  const UniqueFd layer = open_directory(*dir, id);
  if (!layer) return not_there(id);
  auto record = read_record(layer.get());
  if (!record) return fail(Errc::kNotFound, "layer " + id + ": " + record.error().message());
  record->id = id;
  record->used_ms = used_ms(layer.get()).value_or(record->made_ms);
  // In use is what could not be removed now.
  record->in_use = is_held(id) || ::flock(layer.get(), LOCK_EX | LOCK_NB) != 0;
  return std::move(*record);
}

std::vector<std::string> LayerShelf::ids() {
  const auto dir = open(IfMissing::kFail);
  if (!dir) return {};
  std::vector<std::string> all = names_in(*dir);
  std::erase_if(all, [](const std::string& name) { return !is_layer_id(name); });
  return all;
}

void LayerShelf::tidy(Clock::time_point now,
                      const std::function<bool(const std::string&)>& is_awaited) {
  std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
  for (auto at = making_.begin(); at != making_.end();) {
    const std::string& id = at->first;
    Making& making = at->second;
    const auto next = std::next(at);
    if (making.sandbox.expired() && !is_awaited(id)) {
      if (!making.ended_at) making.ended_at = now;
      if (making.owner == nullptr || now >= *making.ended_at + kKeptWithin) {
        log::info("a layer that nobody kept goes", {{"layer", id}});
        if (bury(staged_name(id))) making_.erase(at);
      }
    }
    at = next;
  }
}

std::vector<std::string> LayerShelf::without_room() const {
  std::vector<std::string> all;
  if (!dir_ || making_.empty() || has_room()) return all;
  for (const auto& [id, making] : making_) {
    if (!making.sandbox.expired()) all.push_back(id);
  }
  return all;
}

std::optional<LayerShelf::Clock::time_point> LayerShelf::next_due() const {
  constexpr std::chrono::seconds kOften{1};
  if (making_.empty()) return std::nullopt;
  return Clock::now() + kOften;
}

}  // namespace glovebox::launcher
