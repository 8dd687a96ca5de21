#include "attack/kept_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/id.h"
#include "base/unique_fd.h"
#include "base/write_all.h"

namespace glovebox::attack {
namespace {

constexpr std::size_t kRandom = 16;

Result<> write_new(int directory, const std::string& name, const std::string& text) {
  const UniqueFd file(::openat(directory, name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail(Error::from_errno("create"));
  TRY_OK(write_all(file.get(), text));
  // The server is another user; it alone can enter the directory.
  if (::fchmod(file.get(), 0644) != 0) return fail(Error::from_errno("chmod"));
  return {};
}

}  // namespace

Result<bool> keep_report(const std::string& data_dir, const std::string& text) {
  const std::string path = data_dir + "/store";
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && errno == ENOENT) return false;
  if (!directory) return fail(Error::from_errno("open").context(path));
  const std::string name = std::string(".") + kKeptReport + "." + random_label(kRandom);
  Result<> done = write_new(directory.get(), name, text);
  if (done && ::renameat(directory.get(), name.c_str(), directory.get(), kKeptReport) != 0) {
    done = fail(Error::from_errno("rename"));
  }
  if (done) return true;
  ::unlinkat(directory.get(), name.c_str(), 0);
  return fail(std::move(done.error()).context(path + "/" + kKeptReport));
}

}  // namespace glovebox::attack
