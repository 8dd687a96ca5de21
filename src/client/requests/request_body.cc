#include "client/requests/request_body.h"

#include <unistd.h>

#include "base/unique_fd.h"
#include "options/command_line.h"

namespace glovebox::client {

Result<std::string> read_request_body(const std::string& fd_number) {
  TRY(const std::uint64_t fd, options::parse_count(fd_number, "--body-fd", 1'000'000));
  const UniqueFd file(static_cast<int>(fd));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail(Error::from_errno("--body-fd"));
  std::string body;
  char part[65536];
  while (true) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got < 0) return fail(Error::from_errno("--body-fd"));
    if (got == 0) return body;
    body.append(part, static_cast<std::size_t>(got));
  }
}

}  // namespace glovebox::client
