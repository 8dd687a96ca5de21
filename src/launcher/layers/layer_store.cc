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
constexpr std::uint64_t kMinFreeBytes = 256ull << 20;
constexpr std::uint64_t kMinFreeInodes = 20'000;
// A launcher that only checks whether a layer is in use holds its lock for a moment.
constexpr int kLockTries = 20;
constexpr int kLockPauseMs = 1;

std::string staged_name(const std::string& id) { return std::string(kNew) + id; }

UniqueFd open_layer_directory(int at, const std::string& name) {
  return UniqueFd(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

bool is_still_named(int fd, int at, const std::string& name) {
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

// The time of its last use; nothing if it was never used.
std::optional<std::int64_t> used_ms(int layer) {
  struct stat info {};
  if (::fstatat(layer, kUsed, &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

tl::unexpected<Error> no_such_layer(const std::string& id) {
  return fail(Errc::kNotFound, "there is no layer " + id);
}

std::vector<std::string> names_in(int dir) {
  std::vector<std::string> names;
  UniqueFd copy = open_layer_directory(dir, ".");
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

LayerStore::LayerStore(const std::string& layers_dir)
    : sets_(layers_dir + "/sets"), remover_(sets_, kGone) {}

Result<int> LayerStore::open(IfMissing missing) {
  if (dir_) return dir_.get();
  if (missing == IfMissing::kMake) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(sets_).parent_path(), error);
    if (::mkdir(sets_.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(Error::from_errno("make " + sets_));
    }
  }
  UniqueFd dir = open_layer_directory(AT_FDCWD, sets_);
  if (!dir && errno == ENOENT)
    return fail(Errc::kNotFound, sets_ + " does not exist: there are no layers");
  if (!dir) return fail(Error::from_errno("open " + sets_));
  struct stat info {};
  if (::fstat(dir.get(), &info) != 0) return fail(Error::from_errno("stat " + sets_));
  if (info.st_uid != ::geteuid()) {
    return fail(Errc::kPermissionDenied, sets_ + " must be owned by the launcher's user");
  }
  // Only the launcher, and what it mounts, reaches the files in a layer, whatever their modes.
  if ((info.st_mode & 0777) != 0700 && ::fchmod(dir.get(), 0700) != 0) {
    return fail(Error::from_errno("chmod " + sets_));
  }
  dir_ = std::move(dir);
  return dir_.get();
}

void LayerStore::sweep() {
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
  if (any_gone) remover_.begin();
}

void LayerStore::sweep_one(const std::string& name) {
  const bool staged =
      name.starts_with(kNew) && is_layer_id(std::string_view(name).substr(kNew.size()));
  if (!staged && !is_layer_id(name)) return;  // not a name of ours
  const UniqueFd layer = open_layer_directory(dir_.get(), name);
  if (!layer || ::flock(layer.get(), LOCK_EX | LOCK_NB) != 0) return;  // in use
  if (!is_still_named(layer.get(), dir_.get(), name)) return;
  if (!staged && read_record(layer.get()) && open_tree(layer.get())) return;
  log::warn(staged ? "an unfinished layer is removed" : "a layer without a valid record is removed",
            {{"layer", name}});
  if (auto discarded = discard(name); !discarded) {
    log::warn("a layer could not be removed", {{"error", discarded.error().message()}});
  }
}

// Renames it, so that it cannot be found any more, and has a child process remove it.
Result<> LayerStore::discard(const std::string& name) {
  const std::string gone = kGone + random_label(16);
  if (::renameat(dir_.get(), name.c_str(), dir_.get(), gone.c_str()) != 0) {
    return fail(Error::from_errno("remove layer " + name));
  }
  remover_.begin();
  return {};
}

bool LayerStore::is_held(const std::string& id) const {
  const auto held = held_.find(id);
  return held != held_.end() && !held->second.expired();
}

// Its directory, locked: no launcher removes it while the descriptor is open.
Result<UniqueFd> LayerStore::open_kept(const std::string& id, int lock) {
  if (!is_layer_id(id)) return fail(Errc::kInvalidArgument, "'" + id + "' is not a layer id");
  auto dir = open(IfMissing::kFail);
  if (!dir && dir.error().code() == Errc::kNotFound) return no_such_layer(id);
  if (!dir) return fail(std::move(dir.error()));
  UniqueFd layer = open_layer_directory(*dir, id);
  if (!layer && errno == ENOENT) return no_such_layer(id);
  if (!layer) return fail(Error::from_errno("layer " + id));
  if (!try_lock(layer.get(), lock)) {
    return fail(lock == LOCK_EX ? Errc::kConflict : Errc::kUnavailable,
                "layer " + id + (lock == LOCK_EX ? " is in use" : " is being removed"));
  }
  if (!is_still_named(layer.get(), *dir, id)) return no_such_layer(id);
  return layer;
}

// A layer is as trusted as a program of root: a user who can write it gets into every sandbox that
// uses it.
Result<UniqueFd> LayerStore::open_tree(int layer) const {
  UniqueFd tree = open_layer_directory(layer, kTree);
  if (!tree) return fail(Error::from_errno("open a layer's tree"));
  struct stat info {};
  if (::fstat(tree.get(), &info) != 0 || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return fail(Errc::kPolicy, "a layer's tree must be owned by root and writable by root only");
  }
  return tree;
}

Result<LayerRef> LayerStore::use(const std::string& id, Counts counts) {
  if (const auto known = held_.find(id); known != held_.end()) {
    if (LayerRef held = known->second.lock()) {
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
  auto held = std::make_shared<LayerHandle>(
      LayerHandle{id, sets_ + "/" + id + "/" + kTree, std::move(layer)});
  held_[id] = held;
  return held;
}

Result<std::vector<LayerRef>> LayerStore::use_trees(const std::vector<std::string>& layers) {
  std::vector<LayerRef> all;
  const std::string before = sets_ + "/";
  const std::string behind = std::string("/") + kTree;
  for (const std::string& layer : layers) {
    if (layer.size() != before.size() + kLayerIdSize + behind.size() ||
        !layer.starts_with(before) || !layer.ends_with(behind)) {
      continue;
    }
    TRY(LayerRef held, use(layer.substr(before.size(), kLayerIdSize), Counts::kYes));
    all.push_back(std::move(held));
  }
  return all;
}

// At most once a minute, because many sandboxes may use it per second.
void LayerStore::touch(const std::string& id, int layer) {
  const Clock::time_point now = Clock::now();
  const auto last = touched_.find(id);
  if (last != touched_.end() && now < last->second + kTouchInterval) return;
  if (touched_.size() > kMaxLayers) touched_.clear();
  touched_[id] = now;
  const UniqueFd used(
      ::openat(layer, kUsed, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!used || ::futimens(used.get(), nullptr) != 0) {
    log::warn("the time of a layer's use could not be stored", {{"layer", id}});
  }
}

bool LayerStore::has_room() const {
  struct statvfs room {};
  if (::fstatvfs(dir_.get(), &room) != 0) return true;
  // Some file systems do not count inodes.
  if (room.f_files != 0 && room.f_favail < kMinFreeInodes) return false;
  return static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize >= kMinFreeBytes;
}

Result<LayerRef> LayerStore::begin(const std::string& id, const void* owner) {
  if (!is_layer_id(id)) return fail(Errc::kInvalidArgument, "'" + id + "' is not a layer id");
  TRY(const int dir, open(IfMissing::kMake));
  const auto being_made = [&id] {
    return fail(Errc::kConflict, "layer " + id + " is being made already");
  };
  const std::string name = staged_name(id);
  if (const auto known = making_.find(id); known != making_.end()) {
    if (!known->second.sandbox.expired()) return being_made();
    TRY_OK(discard(name));  // it was never kept
    making_.erase(known);
  }
  if (making_.size() >= kMaxStaged) {
    return fail(Errc::kResourceExhausted,
                std::to_string(making_.size()) + " layers are being made, which is the limit");
  }
  struct stat info {};
  if (::fstatat(dir, id.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return fail(Errc::kConflict, "layer " + id + " exists already");
  }
  if (ids().size() >= kMaxLayers) {
    return fail(Errc::kResourceExhausted, "this host keeps " + std::to_string(kMaxLayers) +
                                              " layers, which is the limit; remove some");
  }
  if (!has_room()) {
    return fail(Errc::kResourceExhausted,
                "the disk of " + sets_ + " has less than 256 MB or 20,000 inodes left");
  }
  constexpr int kTries = 3;
  for (int tries = 0; tries < kTries; ++tries) {
    const bool made = ::mkdirat(dir, name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return fail(Error::from_errno("make layer " + id));
    UniqueFd lock = open_layer_directory(dir, name);
    if (!lock) continue;  // another launcher has swept it
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return being_made();  // by another launcher
    if (!is_still_named(lock.get(), dir, name)) continue;
    if (!made) {
      TRY_OK(discard(name));  // left by a dead launcher
      continue;
    }
    if (::mkdirat(lock.get(), kTree, 0755) != 0) {
      return fail(Error::from_errno("make layer " + id));
    }
    auto held = std::make_shared<LayerHandle>(LayerHandle{id, sets_ + "/" + name + "/" + kTree});
    making_[id] = Making{std::move(lock), held, owner};
    return held;
  }
  return fail(Errc::kUnavailable,
              "layer " + id + " could not be begun: other launchers interfered repeatedly");
}

LayerStore::Staged LayerStore::staged(const std::string& id, const void* owner) const {
  const auto known = making_.find(id);
  if (known == making_.end() || known->second.owner != owner) return Staged::kNone;
  return known->second.sandbox.expired() ? Staged::kMade : Staged::kMaking;
}

std::string LayerStore::path_of_staged(const std::string& id) const {
  return sets_ + "/" + staged_name(id);
}

Result<> LayerStore::keep(LayerRecord record, const void* owner) {
  const std::string id = record.id;
  const Staged state = staged(id, owner);
  if (state == Staged::kNone)
    return fail(Errc::kNotFound, "layer " + id + " was not begun by this client");
  if (state == Staged::kMaking) {
    return fail(Errc::kConflict, "layer " + id + ": its sandbox has not ended");
  }
  const Making& made = making_.find(id)->second;
  // The sandbox may have changed the mode of the top directory.
  const UniqueFd tree = open_layer_directory(made.lock.get(), kTree);
  if (!tree || ::fchmod(tree.get(), 0755) != 0) {
    return fail(Error::from_errno("chmod layer " + id));
  }
  TRY_OK(open_tree(made.lock.get()));
  record.made_ms = now_ms();
  TRY_OK(write_record(made.lock.get(), record));
  // Another launcher may have kept the same one meanwhile.
  if (::renameat2(dir_.get(), staged_name(id).c_str(), dir_.get(), id.c_str(), RENAME_NOREPLACE) !=
      0) {
    if (errno == EEXIST) return fail(Errc::kConflict, "layer " + id + " exists already");
    return fail(Error::from_errno("keep layer " + id));
  }
  touched_.erase(id);
  touch(id, made.lock.get());
  making_.erase(id);
  if (::fsync(dir_.get()) != 0) return fail(Error::from_errno("keep layer " + id));
  return {};
}

void LayerStore::owner_gone(const void* owner) {
  for (auto& [id, making] : making_) {
    if (making.owner == owner) making.owner = nullptr;
  }
}

Result<> LayerStore::note(const std::string& id, std::string note) {
  TRY(const UniqueFd layer, open_kept(id, LOCK_SH));
  auto record = read_record(layer.get());
  if (!record) return fail(std::move(record.error()).context("layer " + id));
  record->note = std::move(note);
  return write_record(layer.get(), *record);
}

Result<> LayerStore::drop(const std::string& id) {
  if (const auto known = making_.find(id); known != making_.end()) {
    if (!known->second.sandbox.expired()) {
      return fail(Errc::kConflict, "layer " + id + ": its sandbox has not ended");
    }
    TRY_OK(discard(staged_name(id)));
    making_.erase(known);
    return {};
  }
  if (is_held(id)) return fail(Errc::kConflict, "layer " + id + " is in use");
  TRY(const UniqueFd layer, open_kept(id, LOCK_EX));
  TRY_OK(discard(id));
  touched_.erase(id);
  return {};
}

Result<LayerRecord> LayerStore::record(const std::string& id) {
  auto dir = open(IfMissing::kFail);
  if (!dir) return no_such_layer(id);
  const UniqueFd layer = open_layer_directory(*dir, id);
  if (!layer) return no_such_layer(id);
  auto record = read_record(layer.get());
  if (!record) return fail(Errc::kNotFound, "layer " + id + ": " + record.error().message());
  record->id = id;
  record->used_ms = used_ms(layer.get()).value_or(record->made_ms);
  // In use means that it could not be removed now.
  record->in_use = is_held(id) || ::flock(layer.get(), LOCK_EX | LOCK_NB) != 0;
  return std::move(*record);
}

std::vector<std::string> LayerStore::ids() {
  const auto dir = open(IfMissing::kFail);
  if (!dir) return {};
  std::vector<std::string> all = names_in(*dir);
  std::erase_if(all, [](const std::string& name) { return !is_layer_id(name); });
  return all;
}

void LayerStore::tidy(Clock::time_point now,
                      const std::function<bool(const std::string&)>& is_awaited) {
  std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
  for (auto at = making_.begin(); at != making_.end();) {
    const std::string& id = at->first;
    Making& making = at->second;
    const auto next = std::next(at);
    if (making.sandbox.expired() && !is_awaited(id)) {
      if (!making.ended_at) making.ended_at = now;
      if (making.owner == nullptr || now >= *making.ended_at + kKeepTimeout) {
        log::info("a layer that was not kept is removed", {{"layer", id}});
        if (discard(staged_name(id))) making_.erase(at);
      }
    }
    at = next;
  }
}

std::vector<std::string> LayerStore::without_room() const {
  std::vector<std::string> all;
  if (!dir_ || making_.empty() || has_room()) return all;
  for (const auto& [id, making] : making_) {
    if (!making.sandbox.expired()) all.push_back(id);
  }
  return all;
}

std::optional<LayerStore::Clock::time_point> LayerStore::next_due() const {
  constexpr std::chrono::seconds kInterval{1};
  if (making_.empty()) return std::nullopt;
  return Clock::now() + kInterval;
}

}  // namespace glovebox::launcher
