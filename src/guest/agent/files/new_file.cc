#include "guest/agent/files/new_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/write_all.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kWriteAtOnce = 1024 * 1024;

bool no_such_facility(int error) {
  return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOENT;
}

}  // namespace

Result<NewFile> NewFile::make(int dir) {
  auto nameless = open_path(dir, ".", O_TMPFILE | O_RDWR, 0600);
  if (nameless) return NewFile(dir, std::move(*nameless), "");
  if (!no_such_facility(nameless.error().sys_errno())) return fail(std::move(nameless.error()));
  std::string name = temporary_name();
  TRY(UniqueFd fd, open_path(dir, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0600));
  return NewFile(dir, std::move(fd), std::move(name));
}

NewFile::~NewFile() {
  if (fd_ && !name_.empty()) (void)::unlinkat(dir_, name_.c_str(), 0);
}

Result<> NewFile::link_as(const std::string& name) {
  if (::linkat(fd_.get(), "", dir_, name.c_str(), AT_EMPTY_PATH) == 0) return {};
  if (errno == EEXIST) return fail_with(EEXIST);
  // Kernels before 6.10 want a capability for that, and none for this.
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  if (::linkat(AT_FDCWD, self.c_str(), dir_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  return fail_with(errno);
}

// The content and the attributes were written under another name or none, where no watch has seen
// it. Setting the times of what is there to the same times changes nothing, and the kernel reports
// it as any other change of attributes and of content.
void NewFile::announce(const std::string& name) const {
  struct stat info {};
  const auto named = open_path(dir_, name, O_PATH | O_NOFOLLOW);
  if (!named || ::fstat(named->get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  timespec times[2] = {info.st_atim, info.st_mtim};
  (void)::utimensat(named->get(), "", times, AT_EMPTY_PATH);
  if (info.st_size == 0) return;
  times[0].tv_nsec = UTIME_OMIT;
  (void)::utimensat(named->get(), "", times, AT_EMPTY_PATH);
}

Result<> NewFile::put(const std::string& name, Replace replace) {
  TRY_OK(put_quietly(name, replace));
  announce(name);
  return {};
}

Result<> NewFile::put_quietly(const std::string& name, Replace replace) {
  if (name_.empty()) {
    auto linked = link_as(name);
    if (linked || linked.error().sys_errno() != EEXIST || replace == Replace::kNo) return linked;
    std::string temporary = temporary_name();
    TRY_OK(link_as(temporary));
    name_ = std::move(temporary);
  }
  const unsigned flags = replace == Replace::kNo ? RENAME_NOREPLACE : 0;
  if (::renameat2(dir_, name_.c_str(), dir_, name.c_str(), flags) != 0) return fail_with(errno);
  name_.clear();
  fd_.reset();
  return {};
}

Result<> receive_all(int pipe, int file, std::uint64_t& bytes) {
  std::string buffer;
  for (bool by_pages = true;;) {
    ssize_t moved = 0;
    if (by_pages) {
      moved = ::splice(pipe, nullptr, file, nullptr, kWriteAtOnce, SPLICE_F_MOVE);
      if (moved < 0 && errno == EINVAL) {
        by_pages = false;
        continue;
      }
    } else {
      buffer.resize(kWriteAtOnce);
      moved = ::read(pipe, buffer.data(), buffer.size());
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return fail_with(errno);
    if (moved == 0) return {};
    if (!by_pages) {
      TRY_OK(write_all(file, std::string_view(buffer).substr(0, static_cast<std::size_t>(moved))));
    }
    bytes += static_cast<std::uint64_t>(moved);
  }
}

}  // namespace glovebox::agent
