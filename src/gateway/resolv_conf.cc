#include "gateway/resolv_conf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/unique_fd.h"

namespace glovebox::gateway {
namespace {

constexpr std::size_t kMaxFile = 64 * 1024;  // what lies behind is not read

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The first word, taken off the front.
std::string_view take_word(std::string_view& line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  std::size_t size = 0;
  while (size < line.size() && !is_blank(line[size])) ++size;
  const std::string_view word = line.substr(0, size);
  line.remove_prefix(size);
  return word;
}

std::string read_text(int fd) {
  std::string text(kMaxFile, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

std::vector<DnsServer> parse_resolv_conf(std::string_view text) {
  std::vector<DnsServer> servers;
  while (!text.empty() && servers.size() < kMaxDnsServers) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (take_word(line) != "nameserver") continue;
    const auto address = net::IpAddress::parse(take_word(line));
    if (!address) continue;
    const DnsServer server{.address = *address};
    if (std::find(servers.begin(), servers.end(), server) == servers.end()) {
      servers.push_back(server);
    }
  }
  return servers;
}

const std::vector<DnsServer>& ResolvConf::servers(Time now) {
  if (!looked_ || now - *looked_ >= kLookEvery) {
    looked_ = now;
    look();
  }
  return servers_;
}

void ResolvConf::look() {
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  std::optional<Stamp> stamp;
  if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    stamp = Stamp{.seconds = status.st_mtim.tv_sec,
                  .nanoseconds = status.st_mtim.tv_nsec,
                  .inode = status.st_ino,
                  .size = status.st_size};
  }
  if (stamp && stamp == stamp_) return;
  stamp_ = stamp;
  servers_ = stamp ? parse_resolv_conf(read_text(file.get())) : std::vector<DnsServer>();
  if (servers_.empty()) {
    servers_.push_back(DnsServer{.address = net::IpAddress::v4({127, 0, 0, 1})});
  }
}

}  // namespace glovebox::gateway
