// Walks a tree of any depth and width by descriptors, following no symlink, with a bounded number
// of descriptors and without recursion. If a directory is moved meanwhile, the walk fails with
// ESTALE; it never leaves the tree.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// A directory and those it is below. Only the innermost are open; one further out is opened again
// through "..", and must then be the same one.
class DirStack {
 public:
  Result<> push(UniqueFd dir);
  Result<> pop();  // to the one above
  int top() const { return levels_.back().fd.get(); }
  std::size_t depth() const { return levels_.size(); }

 private:
  struct Level {
    UniqueFd fd;
    dev_t device = 0;
    ino_t inode = 0;
    off_t offset = 0;  // how far it was listed
  };
  std::deque<Level> levels_;
};

struct DirName {
  std::string name;
  unsigned char type = 0;  // DT_*, or DT_UNKNOWN
};

// Some of the names that were not read yet, sorted; "." and ".." left out. At most `most`; none
// left is the end.
Result<std::vector<DirName>> read_names(int dir, std::size_t most);

// What a walk has found and what was removed or replaced meanwhile.
inline bool is_gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

class TreeWalk {
 public:
  // More names than this in one directory are taken in groups of so many, each sorted in itself.
  static constexpr std::size_t kMaxNames = 128 * 1024;

  explicit TreeWalk(UniqueFd top) : top_(std::move(top)) {}

  // The next in the directory the walk is in; nullptr: there are no more, leave() it.
  Result<const DirName*> next();
  // Into the directory of that name in the one the walk is in.
  Result<> enter(const std::string& name);
  // The same, already opened.
  Result<> enter(const std::string& name, UniqueFd dir);
  // Back to the one above. At the top there is none: false.
  Result<bool> leave();

  int dir() const { return stack_.depth() == 0 ? top_.get() : stack_.top(); }
  std::size_t depth() const { return listings_.size(); }  // 1 at the top, once begun
  // Below the top: "a/b/" in directory b of a, "" at the top.
  const std::string& path() const { return path_; }

 private:
  struct Listing {
    std::vector<DirName> names;
    std::size_t at = 0;
    bool whole = false;  // all its names were read
    std::size_t path_size = 0;
  };
  Result<> begin();

  UniqueFd top_;
  DirStack stack_;
  std::vector<Listing> listings_;
  std::string path_;
};

}  // namespace glovebox::agent
