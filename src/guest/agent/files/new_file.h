// A file that does not exist until it is complete: without a name where the file system can do
// that, else under one that nobody guesses; then put in its place in one step.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {

enum class Replace : bool { kNo, kYes };

class NewFile {
 public:
  // In the directory it will be in, which outlives this.
  static Result<NewFile> make(int dir);
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // removes what was not put

  int fd() const { return fd_.get(); }
  Result<> put(const std::string& name, Replace replace);

 private:
  NewFile(int dir, UniqueFd fd, std::string name)
      : dir_(dir), fd_(std::move(fd)), name_(std::move(name)) {}
  Result<> link_as(const std::string& name);

  int dir_;
  UniqueFd fd_;
  std::string name_;  // empty: it has none yet
};

// All that comes through a pipe, until its end. Tells how much that was, also when it fails.
Result<> receive_all(int pipe, int file, std::uint64_t& bytes);

}  // namespace glovebox::agent
