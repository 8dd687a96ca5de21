#include "guest/agent/files/watch_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/tree_walk.h"

namespace glovebox::agent {
namespace {

constexpr std::uint32_t kOfDirectory = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM |
                                       IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
                                       IN_EXCL_UNLINK;
constexpr std::uint32_t kOfFile = IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::size_t kEventBytes = 64 * 1024;

bool is_gone_or_hidden(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
}

std::string join(const std::string& dir, const std::string& name) {
  return dir.empty() ? name : dir + "/" + name;
}

bool is_path_below(const std::string& path, const std::string& top) {
  return path == top || (path.starts_with(top) && path[top.size()] == '/');
}

}  // namespace

Result<WatchTree> WatchTree::make(const std::string& path, bool recursive, Report report) {
  TRY(const UniqueFd top, open_path(AT_FDCWD, path, O_PATH));
  if (in_proc(top.get())) return fail_with(EACCES);
  UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify && (errno == EMFILE || errno == ENFILE)) {
    return fail(Error(Errc::kResourceExhausted, "too many inotify instances are in use", EMFILE));
  }
  if (!inotify) return fail_with(errno);
  struct stat info {};
  if (::fstat(top.get(), &info) != 0) return fail_with(errno);
  WatchTree tree(std::move(inotify), path, recursive, std::move(report));
  tree.top_info_ = info;
  tree.top_is_directory_ = S_ISDIR(info.st_mode);
  if (tree.top_is_directory_) {
    TRY_OK(tree.begin());
    return tree;
  }
  tree.top_watch_ = ::inotify_add_watch(tree.inotify_.get(), path.c_str(), kOfFile);
  if (tree.top_watch_ < 0) return fail_with(errno);
  tree.paths_[tree.top_watch_] = "";
  return tree;
}

Result<> WatchTree::begin() {
  TRY(const UniqueFd dir, open_below(""));
  TRY_OK(add_watch(dir.get(), ""));
  for (const auto& [watch, path] : paths_) top_watch_ = watch;
  return recursive_ ? watch_below("", Found::kKnown) : Result<>{};
}

// False: it was watched before.
Result<bool> WatchTree::add_watch(int dir, const std::string& path) {
  // By way of the working directory: a descriptor cannot be named without /proc, and a path could
  // lead elsewhere by now.
  if (::fchdir(dir) != 0) return fail_with(errno, path);
  const int watch = ::inotify_add_watch(inotify_.get(), ".", kOfDirectory | IN_ONLYDIR);
  const int error = errno;
  (void)!::chdir("/");
  if (watch < 0 && error == ENOSPC) {
    return fail(Error(Errc::kResourceExhausted,
                      "too many directories to watch (" + std::to_string(paths_.size()) + " are)",
                      ENOSPC));
  }
  if (watch < 0) return fail_with(error, path);
  return paths_.insert_or_assign(watch, path).second;
}

Result<> WatchTree::send_event(wire::WatchKind kind, bool directory, const std::string& path,
                               const std::string& to) {
  if (path.size() > wire::kMaxRecordPath || to.size() > wire::kMaxRecordPath) return {};
  wire::WatchEvent event{kind, directory, path, to};
  // Repeated writes to the same file are reported once, until something else happens.
  if (kind == wire::WatchKind::kWritten && event == last_) return {};
  last_ = event;
  return report_(event);
}

bool WatchTree::top_is_there() const {
  struct stat info {};
  return ::stat(top_.c_str(), &info) == 0 && info.st_dev == top_info_.st_dev &&
         info.st_ino == top_info_.st_ino;
}

// The top, and from there component by component, through no link.
Result<UniqueFd> WatchTree::open_below(const std::string& path) {
  TRY(UniqueFd at, open_listing(AT_FDCWD, top_));
  struct stat info {};
  if (::fstat(at.get(), &info) != 0) return fail_with(errno);
  if (info.st_dev != top_info_.st_dev || info.st_ino != top_info_.st_ino) return fail_with(ENOENT);
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    TRY(at, open_child(at.get(), name));
  }
  return at;
}

// The directories below, and, when they are new, what is in them.
Result<> WatchTree::watch_below(const std::string& path, Found found) {
  auto start = open_below(path);
  if (!start && is_gone_or_hidden(start.error().sys_errno())) return {};
  if (!start) return fail(std::move(start.error()));
  if (!path.empty()) {
    // The watch comes before the listing: what is made in between is seen by one of the two.
    auto added = add_watch(start->get(), path);
    if (!added && is_gone_or_hidden(added.error().sys_errno())) return {};
    if (!added) return fail(std::move(added.error()));
  }
  TreeWalk walk(std::move(*start));
  for (;;) {
    TRY(const DirName* name, walk.next());
    if (name == nullptr) {
      TRY(const bool more, walk.leave());
      if (!more) return {};
      continue;
    }
    const std::string whole = join(path, walk.path() + name->name);
    if (found == Found::kNew) {
      TRY_OK(report_found(walk.dir(), name->name, whole, name->type == DT_DIR));
    }
    if (name->type != DT_DIR || whole.size() > wire::kMaxRecordPath) continue;
    auto dir = open_child(walk.dir(), name->name);
    if (!dir || in_proc(dir->get())) continue;
    auto added = add_watch(dir->get(), whole);
    if (!added && is_gone_or_hidden(added.error().sys_errno())) continue;
    if (!added) return fail(std::move(added.error()));
    TRY_OK(walk.enter(name->name, std::move(*dir)));
  }
}

Result<> WatchTree::report_found(int dir, const std::string& name, const std::string& path,
                                 bool directory) {
  if (is_temporary_name(name)) return {};
  found_.insert(path);
  TRY_OK(send_event(wire::WatchKind::kCreated, directory, path));
  struct stat info {};
  const bool written = ::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISREG(info.st_mode) && info.st_size > 0;
  return written ? send_event(wire::WatchKind::kWritten, false, path) : Result<>{};
}

void WatchTree::forget_below(const std::string& path) {
  for (auto it = paths_.begin(); it != paths_.end();) {
    if (it->first != top_watch_ && is_path_below(it->second, path)) {
      (void)::inotify_rm_watch(inotify_.get(), it->first);
      it = paths_.erase(it);
    } else {
      ++it;
    }
  }
}

void WatchTree::rename_below(const std::string& from, const std::string& to) {
  for (auto& [watch, path] : paths_) {
    if (watch != top_watch_ && is_path_below(path, from)) path = to + path.substr(from.size());
  }
}

Result<> WatchTree::end_move() {
  if (!moved_from_) return {};
  const Moved moved = std::move(*moved_from_);
  moved_from_.reset();
  if (moved.directory) forget_below(moved.path);
  if (is_temporary_name(moved.name)) return {};
  return send_event(wire::WatchKind::kRemoved, moved.directory, moved.path);
}

Result<> WatchTree::moved_to(const inotify_event& event, const std::string& path,
                             const std::string& name) {
  const bool directory = (event.mask & IN_ISDIR) != 0;
  if (!moved_from_ || moved_from_->cookie != event.cookie) {
    TRY_OK(end_move());
    if (is_temporary_name(name)) return {};
    TRY_OK(send_event(wire::WatchKind::kCreated, directory, path));
    return directory && recursive_ ? watch_below(path, Found::kNew) : Result<>{};
  }
  const Moved moved = std::move(*moved_from_);
  moved_from_.reset();
  if (directory) rename_below(moved.path, path);
  // A helper's own file that was put in its place, complete.
  if (is_temporary_name(moved.name)) return send_event(wire::WatchKind::kWritten, directory, path);
  return send_event(wire::WatchKind::kRenamed, directory, moved.path, path);
}

// The kernel calls a file without a name "#" and its number: it is not visible in the directory.
bool WatchTree::is_nameless(const std::string& dir, const std::string& name) {
  if (name[0] != '#' || name.find_first_not_of("0123456789", 1) != std::string::npos) return false;
  const auto at = open_below(dir);
  struct stat info {};
  return !at || ::fstatat(at->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0;
}

Result<> WatchTree::handle_named_event(const inotify_event& event, const std::string& dir,
                                       const std::string& name) {
  const std::string path = join(dir, name);
  const bool directory = (event.mask & IN_ISDIR) != 0;
  if ((event.mask & IN_MOVED_TO) != 0) return moved_to(event, path, name);
  TRY_OK(end_move());
  if ((event.mask & IN_MOVED_FROM) != 0) {
    moved_from_ = Moved{event.cookie, directory, path, name};
    return {};
  }
  const bool of_content = (event.mask & (IN_MODIFY | IN_ATTRIB)) != 0;
  if (is_temporary_name(name) || (of_content && is_nameless(dir, name))) return {};
  if ((event.mask & IN_CREATE) != 0) {
    if (found_.erase(path) != 0) return {};
    TRY_OK(send_event(wire::WatchKind::kCreated, directory, path));
    return directory && recursive_ ? watch_below(path, Found::kNew) : Result<>{};
  }
  if ((event.mask & IN_DELETE) != 0) return send_event(wire::WatchKind::kRemoved, directory, path);
  if ((event.mask & IN_MODIFY) != 0) return send_event(wire::WatchKind::kWritten, directory, path);
  if ((event.mask & IN_ATTRIB) != 0)
    return send_event(wire::WatchKind::kAttribute, directory, path);
  return {};
}

Result<bool> WatchTree::handle_top_event(std::uint32_t mask) {
  if ((mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)) != 0) {
    TRY_OK(end_move());
    TRY_OK(send_event(wire::WatchKind::kRemoved, top_is_directory_, ""));
    return true;
  }
  if ((mask & IN_MODIFY) != 0) TRY_OK(send_event(wire::WatchKind::kWritten, false, ""));
  if ((mask & IN_ATTRIB) != 0) {
    // inotify reports the loss of its name as a change of its attributes first.
    if (!top_is_directory_ && !top_is_there()) return handle_top_event(IN_DELETE_SELF);
    TRY_OK(send_event(wire::WatchKind::kAttribute, top_is_directory_, ""));
  }
  return false;
}

Result<bool> WatchTree::handle_event(const inotify_event& event, const std::string& name) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    TRY_OK(end_move());
    TRY_OK(send_event(wire::WatchKind::kOverflow, false, ""));
    // Directories may have been created without an event.
    if (recursive_ && top_is_directory_) TRY_OK(watch_below("", Found::kKnown));
    return false;
  }
  const auto watched = paths_.find(event.wd);
  if (watched == paths_.end()) return false;
  if (name.empty()) {
    if (event.wd == top_watch_) return handle_top_event(event.mask);
    // The end of another directory is reported by its parent.
    if ((event.mask & IN_IGNORED) != 0) paths_.erase(watched);
    return false;
  }
  const std::string dir = watched->second;
  TRY_OK(handle_named_event(event, dir, name));
  return false;
}

Result<bool> WatchTree::take() {
  alignas(inotify_event) char buffer[kEventBytes];
  for (;;) {
    const ssize_t got = ::read(inotify_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      found_.clear();  // what waited was dropped
      return false;
    }
    if (got < 0) return fail_with(errno);
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      TRY(const bool over, handle_event(*event, event->len > 0 ? event->name : ""));
      if (over) return true;
    }
  }
}

}  // namespace glovebox::agent
