#include "bench/package_index_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench/network_peer.h"

namespace glovebox::bench {
namespace {

constexpr timeval kIndexTimeout{5, 0};
constexpr std::size_t kMostHead = 16 * 1024;

// The path of a GET request; empty if it is something else.
std::string path_of(int connection) {
  std::string head;
  char bytes[4096];
  while (head.find("\r\n\r\n") == std::string::npos && head.size() < kMostHead) {
    const ssize_t got = ::recv(connection, bytes, sizeof bytes, 0);
    if (got <= 0) return "";
    head.append(bytes, static_cast<std::size_t>(got));
  }
  if (!head.starts_with("GET ")) return "";
  return head.substr(4, head.find_first_of(" ?\r", 4) - 4);
}

}  // namespace

Result<std::unique_ptr<PackageIndexServer>> PackageIndexServer::serve(const net::IpAddress& address,
                                                                      unsigned packages) {
  TRY(UniqueFd listener, listen_on(address));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake) return fail(Error::from_errno("eventfd"));
  return std::unique_ptr<PackageIndexServer>(
      new PackageIndexServer(address, std::move(listener), std::move(wake), packages));
}

PackageIndexServer::PackageIndexServer(const net::IpAddress& address, UniqueFd listener,
                                       UniqueFd wake, unsigned packages)
    : address_(address),
      port_(port_of(listener.get())),
      listener_(std::move(listener)),
      wake_(std::move(wake)) {
  for (unsigned i = 0; i < packages; ++i) {
    const std::string number = std::to_string(i);
    const Wheel wheel = make_wheel("gbx_bench_" + number, "number = " + number + "\n");
    pages_["/simple/gbx-bench-" + number + "/"] = "<!DOCTYPE html>\n<a href=\"/files/" +
                                                  wheel.file + "#sha256=" + wheel.sha256 + "\">" +
                                                  wheel.file + "</a>\n";
    pages_["/files/" + wheel.file] = wheel.bytes;
  }
  thread_ = std::thread([this] { serve(); });
}

PackageIndexServer::~PackageIndexServer() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

std::string PackageIndexServer::host() const {
  return address_.text() + ":" + std::to_string(port_);
}

std::string PackageIndexServer::url() const { return "http://" + host() + "/simple/"; }

void PackageIndexServer::serve() {
  for (;;) {
    pollfd waits[2] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection || !is_from_here(connection.get())) continue;
    ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kIndexTimeout, sizeof kIndexTimeout);
    ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &kIndexTimeout, sizeof kIndexTimeout);
    answer(connection.get());
  }
}

void PackageIndexServer::answer(int connection) const {
  const std::string path = path_of(connection);
  const auto page = pages_.find(path);
  const bool is_known = page != pages_.end();
  const std::string body = is_known ? page->second : "no such package\n";
  const char* type = path.ends_with(".whl") ? "application/octet-stream" : "text/html";
  std::string text = is_known ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 404 Not Found\r\n";
  text += std::string("Content-Type: ") + type +
          "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
          body;
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t put = ::send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (put <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  ::shutdown(connection, SHUT_WR);
}

}  // namespace glovebox::bench
