// A directory of ours that files of a guest are written into. Their names come from the guest: each
// component is opened by itself and never through a link, so nothing lands outside.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::client {

class HostTree {
 public:
  // Made if it is not there. A link at its end is followed if the user typed the whole of it; not
  // if the last name is a guest's, who may have left a link there at an earlier copy.
  enum class Typed : bool { kInPart, kWhole };
  static Result<HostTree> open(const std::string& path, Typed typed);

  Result<> make_directory(const std::string& relative, unsigned mode) const;
  Result<> make_link(const std::string& relative, const std::string& target) const;

  // A file that appears whole or not at all.
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
    std::string draft_;  // empty: it is kept
    std::string name_;
  };
  Result<File> create(const std::string& relative) const;

 private:
  explicit HostTree(UniqueFd root) : root_(std::move(root)) {}
  Result<UniqueFd> parent_of(const std::string& relative, std::string& name) const;

  UniqueFd root_;
};

}  // namespace glovebox::client
