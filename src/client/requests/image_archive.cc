#include "client/requests/image_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace glovebox::client {

Result<ImageArchive> ImageArchive::open(const std::string& path) {
  if (path == "-") return ImageArchive(UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), 0);
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return fail(Error::from_errno("open " + path));
  if (!S_ISDIR(info.st_mode)) return ImageArchive(std::move(file), 0);
  return pack(path);
}

ImageArchive::~ImageArchive() {
  fd_.reset();
  if (packer_ != 0) ::waitpid(packer_, nullptr, 0);
}

std::optional<std::uint64_t> ImageArchive::length() const {
  struct stat info {};
  if (packer_ != 0 || ::fstat(fd_.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(info.st_size);
}

Result<std::size_t> ImageArchive::read(char* into, std::size_t size) {
  while (true) {
    const ssize_t got = ::read(fd_.get(), into, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read the archive"));
    if (got == 0) {
      TRY_OK(wait_for_packer());
    }
    return static_cast<std::size_t>(got);
  }
}

// With owners as numbers and with file capabilities.
Result<ImageArchive> ImageArchive::pack(const std::string& directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Error::from_errno("fork"));
  if (pid == 0) {
    ::dup2(theirs.get(), STDOUT_FILENO);
    ::execlp("tar", "tar", "--create", "--numeric-owner", "--xattrs", "--xattrs-include=*",
             "--one-file-system", "--directory", directory.c_str(), ".",
             static_cast<char*>(nullptr));
    ::_exit(127);
  }
  return ImageArchive(std::move(ours), pid);
}

// At the end of what `tar` writes: whether it was all.
Result<> ImageArchive::wait_for_packer() {
  if (packer_ == 0) return {};
  int status = 0;
  ::waitpid(std::exchange(packer_, 0), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    return fail(Errc::kUnavailable, "tar is not installed on this host");
  }
  return fail(Errc::kInternal, "tar could not read the whole directory");
}

}  // namespace glovebox::client
