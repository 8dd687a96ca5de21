// Watches a file, or every directory of a tree as it changes, with inotify, and reports events with
// their paths.
#pragma once

#include <sys/inotify.h>
#include <sys/stat.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/guest/file_records.h"

namespace glovebox::agent {

class WatchTree {
 public:
  using Report = std::function<Result<>(const wire::WatchEvent&)>;

  // Of a directory, or of a file.
  static Result<WatchTree> make(const std::string& path, bool recursive, Report report);

  int fd() const { return inotify_.get(); }
  // Reads and reports the pending events. True: the top itself was removed, which ends the watch.
  Result<bool> take();
  // No event followed for a while: an entry that was moved away has left the tree.
  Result<> end_move();
  bool has_open_move() const { return moved_from_.has_value(); }

 private:
  struct Moved {
    std::uint32_t cookie = 0;
    bool directory = false;
    std::string path;
    std::string name;
  };
  enum class Found : bool { kKnown, kNew };

  WatchTree(UniqueFd inotify, std::string top, bool recursive, Report report)
      : inotify_(std::move(inotify)),
        top_(std::move(top)),
        recursive_(recursive),
        report_(std::move(report)) {}

  Result<> begin();
  bool top_is_there() const;
  bool is_nameless(const std::string& dir, const std::string& name);
  Result<UniqueFd> open_below(const std::string& path);
  Result<> watch_below(const std::string& path, Found found);
  Result<bool> add_watch(int dir, const std::string& path);
  Result<> report_found(int dir, const std::string& name, const std::string& path, bool directory);
  Result<bool> handle_event(const inotify_event& event, const std::string& name);
  Result<bool> handle_top_event(std::uint32_t mask);
  Result<> handle_named_event(const inotify_event& event, const std::string& dir,
                              const std::string& name);
  Result<> moved_to(const inotify_event& event, const std::string& path, const std::string& name);
  void forget_below(const std::string& path);
  void rename_below(const std::string& from, const std::string& to);
  Result<> send_event(wire::WatchKind kind, bool directory, const std::string& path,
                      const std::string& to = {});

  UniqueFd inotify_;
  // By its path and inode: an open descriptor would keep it alive, and the kernel reports its end
  // only when it has ended.
  std::string top_;
  struct stat top_info_ {};
  bool recursive_;
  bool top_is_directory_ = true;
  Report report_;
  int top_watch_ = -1;
  std::unordered_map<int, std::string> paths_;  // of watches: "" or "a/b"
  std::optional<Moved> moved_from_;
  // Entries that were found in a new directory: pending events about them are dropped.
  std::set<std::string> found_;
  wire::WatchEvent last_;
};

}  // namespace glovebox::agent
