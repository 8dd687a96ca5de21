#include "gateway/testing/test_world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/fd_message.h"
#include "gateway/testing/test_sockets.h"
#include "net/dns_message.h"
#include "sys/loopback.h"
#include "sys/netlink.h"
#include "sys/own_network.h"

namespace glovebox::gateway::testing {
namespace {

constexpr int kNoNamespaces = 77;
constexpr int kStreams = 90;
constexpr int kStreamsAtOnce = 30;

// On loopback a whole range is local.
bool give_address(const char* text, std::uint8_t prefix) {
  in_addr address{};
  ::inet_pton(AF_INET, text, &address);
  ifaddrmsg head{};
  head.ifa_family = AF_INET;
  head.ifa_prefixlen = prefix;
  head.ifa_index = 1;
  sys::NetlinkAttributes attributes;
  attributes.bytes(IFA_LOCAL, &address, sizeof address);
  attributes.bytes(IFA_ADDRESS, &address, sizeof address);
  sys::NetlinkBatch batch;
  batch.add(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof head, attributes);
  batch.want_answer();
  return batch.send(NETLINK_ROUTE, "an address").has_value();
}

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  return address;
}

// In the sandbox's process: makes everything there, hands it over, and waits for the end.
[[noreturn]] void be_guest(const UniqueFd& channel) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::unshare(CLONE_NEWNET) != 0 || sys::bring_loopback_up() != 0) ::_exit(1);
  auto sockets = sys::prepare_own_network();
  if (!sockets || !sys::raise_own_network()) ::_exit(2);
  const UniqueFd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  const std::byte word{1};
  const int first[] = {sockets->connections.get(), sockets->names.get(), datagrams.get()};
  if (!send_message(channel.get(), std::span(&word, 1), first)) ::_exit(3);
  std::vector<UniqueFd> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  }
  for (int i = 0; i < kStreams; i += kStreamsAtOnce) {
    std::vector<int> part;
    for (int j = i; j < i + kStreamsAtOnce; ++j) {
      part.push_back(streams[static_cast<std::size_t>(j)].get());
    }
    if (!send_message(channel.get(), std::span(&word, 1), part)) ::_exit(4);
  }
  streams.clear();
  char byte;
  (void)!::read(channel.get(), &byte, 1);
  ::_exit(0);
}

}  // namespace

void in_box(const std::function<void()>& body) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(kNoNamespaces);
    if (sys::bring_loopback_up() != 0) ::_exit(kNoNamespaces);
    // The second is a public address of this host.
    if (!give_address("198.18.0.1", 15) || !give_address("45.90.28.1", 32)) ::_exit(3);
    ::signal(SIGPIPE, SIG_IGN);
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespaces) GTEST_SKIP() << "no namespaces";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

net::IpAddress ip(const std::string& text) { return net::IpAddress::parse(text).value(); }

Guest::Guest() {
  SocketPair pair = seqpacket_pair().value();
  child_ = ::fork();
  if (child_ == 0) {
    pair.ours.reset();
    be_guest(pair.theirs);
  }
  pair.theirs.reset();
  channel_ = std::move(pair.ours);
  auto first = receive_message(channel_.get(), 1, kMaxPassedFds);
  if (!first || first->fds.size() != 3) return;
  connections_ = std::move(first->fds[0]);
  names_ = std::move(first->fds[1]);
  datagrams_ = std::move(first->fds[2]);
  for (int i = 0; i < kStreams; i += kStreamsAtOnce) {
    auto part = receive_message(channel_.get(), 1, kMaxPassedFds);
    if (!part) return;
    for (UniqueFd& fd : part->fds) streams_.push_back(std::move(fd));
  }
  process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
}

void Guest::end() {
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = 0;
}

std::vector<UniqueFd> Guest::lend() const {
  std::vector<UniqueFd> in_use;
  for (const UniqueFd* fd : {&connections_, &names_, &process_}) {
    in_use.emplace_back(::fcntl(fd->get(), F_DUPFD_CLOEXEC, 3));
  }
  return in_use;
}

UniqueFd Guest::connect(const std::string& address, std::uint16_t port) {
  if (streams_.empty()) return UniqueFd();
  UniqueFd socket = std::move(streams_.back());
  streams_.pop_back();
  const sockaddr_in to = address_of(address, port);
  (void)::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return socket;
}

std::vector<net::IpAddress> Guest::resolve(boost::asio::io_context& io, const std::string& name) {
  const net::HostName host = net::HostName::parse(name).value();
  const auto question = net::write_question(77, host, net::DnsType::kA);
  const sockaddr_in to = address_of("100.64.0.53", 53);
  ::sendto(datagrams_.get(), question.data(), question.size(), 0,
           reinterpret_cast<const sockaddr*>(&to), sizeof to);
  std::vector<std::byte> bytes(net::kMaxDnsAnswer);
  ssize_t size = -1;
  run_until(io, [&] {
    size = ::recv(datagrams_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return size > 0;
  });
  if (size <= 0) return {};
  const auto answer = net::read_answer(std::span(bytes).first(static_cast<std::size_t>(size)), 77,
                                       host, net::DnsType::kA);
  return answer ? answer->addresses : std::vector<net::IpAddress>{};
}

Listener::Listener(const std::string& address, std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in at = address_of(address, port);
  EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::listen(socket_.get(), 128), 0);
}

UniqueFd Listener::accept() {
  return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

NameServer::NameServer(boost::asio::io_context& io) : socket_(io) {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in at = address_of(kAddress, 53);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  socket_.assign(socket.release());
  wait();
}

void NameServer::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (error) return;
                       answer();
                       wait();
                     });
}

void NameServer::answer() {
  std::vector<std::byte> bytes(net::kMaxDnsQuery);
  sockaddr_storage from{};
  socklen_t from_size = sizeof from;
  const ssize_t size = ::recvfrom(socket_.native_handle(), bytes.data(), bytes.size(), 0,
                                  reinterpret_cast<sockaddr*>(&from), &from_size);
  if (size <= 0) return;
  const auto query = net::read_query(std::span(bytes).first(static_cast<std::size_t>(size)));
  if (!query) return;
  asked.push_back(query->name.str());
  const auto found = addresses.find(query->name.str());
  std::vector<net::IpAddress> told;
  if (found != addresses.end()) told.push_back(ip(found->second));
  const auto reply = net::write_answer(
      *query, told.empty() ? net::DnsCode::kNxDomain : net::DnsCode::kNoError, told, 60);
  ::sendto(socket_.native_handle(), reply.data(), reply.size(), 0,
           reinterpret_cast<const sockaddr*>(&from), from_size);
}

std::string client_hello(const std::string& name) {
  const auto number = [](std::size_t value, int size) {
    std::string bytes;
    for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  };
  const std::string entry = number(0, 1) + number(name.size(), 2) + name;
  const std::string list = number(entry.size(), 2) + entry;
  const std::string extensions = number(0, 2) + number(list.size(), 2) + list;
  const std::string hello = number(0x0303, 2) + std::string(32, 'r') + number(0, 1) + number(2, 2) +
                            number(0x1301, 2) + number(1, 1) + number(0, 1) +
                            number(extensions.size(), 2) + extensions;
  const std::string message = number(1, 1) + number(hello.size(), 3) + hello;
  return number(22, 1) + number(0x0301, 2) + number(message.size(), 2) + message;
}

}  // namespace glovebox::gateway::testing
