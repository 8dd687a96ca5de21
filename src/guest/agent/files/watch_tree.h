// Keeps a watch on each directory of a tree, as it grows, shrinks and is moved about, and tells
// what happens in it by its path.
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
  using Tell = std::function<Result<>(const wire::WatchEvent&)>;

  // Of a directory, or of a file.
  static Result<WatchTree> make(const std::string& path, bool recursive, Tell tell);

  int fd() const { return inotify_.get(); }
  // What has come. True: the top itself is gone, and with it the watch.
  Result<bool> take();
  // Nothing came for a while: what was moved from here went elsewhere.
  Result<> settle();
  bool has_open_move() const { return moved_from_.has_value(); }

 private:
  struct Moved {
    std::uint32_t cookie = 0;
    bool directory = false;
    std::string path;
    std::string name;
  };
  enum class Found : bool { kKnown, kNew };

  WatchTree(UniqueFd inotify, std::string top, bool recursive, Tell tell)
      : inotify_(std::move(inotify)),
        top_(std::move(top)),
        recursive_(recursive),
        tell_(std::move(tell)) {}

  Result<> begin();
  bool top_is_there() const;
  bool is_nameless(const std::string& dir, const std::string& name);
  Result<UniqueFd> open_below(const std::string& path);
  Result<> watch_below(const std::string& path, Found found);
  Result<bool> add_watch(int dir, const std::string& path);
  Result<> tell_found(int dir, const std::string& name, const std::string& path, bool directory);
  Result<> tell_content(const std::string& dir, const std::string& name, const std::string& path);
  Result<bool> take_one(const inotify_event& event, const std::string& name);
  Result<bool> take_of_top(std::uint32_t mask);
  Result<> take_named(const inotify_event& event, const std::string& dir, const std::string& name);
  Result<> moved_to(const inotify_event& event, const std::string& path, const std::string& name);
  void forget_below(const std::string& path);
  void rename_below(const std::string& from, const std::string& to);
  Result<> say(wire::WatchKind kind, bool directory, const std::string& path,
               const std::string& to = {});

  UniqueFd inotify_;
  // By its path, and what must be there: a descriptor would keep it alive, and the kernel tells the
  // end of what is watched only when it has ended.
  std::string top_;
  struct stat top_info_ {};
  bool recursive_;
  bool top_is_directory_ = true;
  Tell tell_;
  int top_watch_ = -1;
  std::unordered_map<int, std::string> paths_;  // of watches: "" or "a/b"
  std::optional<Moved> moved_from_;
  // What was found in a new directory: the events of the same, which may be waiting, are dropped.
  std::set<std::string> found_;
  wire::WatchEvent last_;
};

}  // namespace glovebox::agent
