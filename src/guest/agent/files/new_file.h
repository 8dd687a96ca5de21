// A file that becomes visible only when it is complete: without a name (O_TMPFILE) where the file
// system supports it, else with an unpredictable one; then renamed atomically.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {

enum class Replace : bool { kNo, kYes };

class NewFile {
 public:
  // In the directory where it will be, which outlives this object.
  static Result<NewFile> make(int dir);
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // removes the file unless put() succeeded

  int fd() const { return fd_.get(); }
  // Watches report it as a file that is created or replaced, gets its attributes and is written.
  Result<> put(const std::string& name, Replace replace);

 private:
  NewFile(int dir, UniqueFd fd, std::string name)
      : dir_(dir), fd_(std::move(fd)), name_(std::move(name)) {}
  Result<> put_quietly(const std::string& name, Replace replace);
  Result<> link_as(const std::string& name);
  void announce(const std::string& name) const;

  int dir_;
  UniqueFd fd_;
  std::string name_;  // empty: it has none yet
};

// Copies a pipe to a file until its end. `bytes` is set even on failure.
Result<> receive_all(int pipe, int file, std::uint64_t& bytes);

}  // namespace glovebox::agent
