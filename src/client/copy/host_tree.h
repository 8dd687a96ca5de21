// A local directory that receives files from a guest. The guest chose their names, so every path
// component is opened separately and without following links: nothing is written outside.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::client {

class HostTree {
 public:
  // Whether a link as the last component is followed: yes if the user typed it, no if that name
  // came from the guest, whose earlier copy may have left a link there.
  enum class FinalLink : bool { kRefuse, kFollow };
  // Creates the directory if it does not exist.
  static Result<HostTree> open(const std::string& path, FinalLink final_link);

  Result<> make_directory(const std::string& relative, unsigned mode) const;
  Result<> make_link(const std::string& relative, const std::string& target) const;

  // A file that is written under a temporary name; keep() renames it.
  class File {
   public:
    int fd() const { return fd_.get(); }
    Result<> keep(unsigned mode);
    File(File&&) = default;
    ~File();

   private:
    friend class HostTree;
    File(UniqueFd directory, UniqueFd fd, std::string draft, std::string name)
        : directory_(std::move(directory)),
          fd_(std::move(fd)),
          draft_(std::move(draft)),
          name_(std::move(name)) {}
    UniqueFd directory_;
    UniqueFd fd_;
    std::string draft_;  // empty: renamed by keep()
    std::string name_;
  };
  Result<File> create(const std::string& relative) const;

 private:
  explicit HostTree(UniqueFd root) : root_(std::move(root)) {}
  Result<UniqueFd> parent_of(const std::string& relative, std::string& name) const;

  UniqueFd root_;
};

}  // namespace glovebox::client
