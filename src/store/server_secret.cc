#include "store/server_secret.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/unique_fd.h"

namespace glovebox::store {
namespace {

constexpr std::size_t kSize = 32;
constexpr const char* kName = "/secret";

Result<> write_new(const std::string& path, const std::string& secret) {
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(Error::from_errno("open " + path));
  if (::write(file.get(), secret.data(), secret.size()) != static_cast<ssize_t>(secret.size()) ||
      ::fsync(file.get()) != 0) {
    return fail(Error::from_errno("write " + path));
  }
  return {};
}

}  // namespace

Result<std::string> server_secret(const std::string& directory) {
  const std::string path = directory + kName;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno != ENOENT) return fail(Error::from_errno("open " + path));
  if (file) {
    std::string secret(kSize + 1, '\0');
    const ssize_t got = ::read(file.get(), secret.data(), secret.size());
    if (got != static_cast<ssize_t>(kSize)) {
      return fail(Errc::kProtocol,
                  path +
                      " is not a valid server secret; remove it to have a "
                      "new one created (access tokens of running sandboxes become invalid)");
    }
    secret.resize(kSize);
    return secret;
  }
  std::string secret(kSize, '\0');
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSize) != 1) {
    return fail(Errc::kInternal, "the kernel's random generator failed");
  }
  // Whole or not at all: a start that is cut short leaves none.
  const std::string made = path + ".new";
  TRY_OK(write_new(made, secret));
  if (::rename(made.c_str(), path.c_str()) != 0) return fail(Error::from_errno("rename " + made));
  return secret;
}

}  // namespace glovebox::store
