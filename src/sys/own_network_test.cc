// Each case has a user and network namespace of its own, in a child process.
#include "sys/own_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>

#include "sys/loopback.h"

namespace glovebox::sys {
namespace {

constexpr int kNoNamespaces = 77;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
Address address_of(const char* text, std::uint16_t port) {
  Address address;
  if (std::strchr(text, ':') != nullptr) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    ::inet_pton(AF_INET6, text, &v6.sin6_addr);
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    ::inet_pton(AF_INET, text, &v4.sin_addr);
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.size = sizeof v4;
  }
  return address;
}

UniqueFd socket_for(const char* text, int type) {
  return UniqueFd(::socket(std::strchr(text, ':') != nullptr ? AF_INET6 : AF_INET,
                           type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// 0, or why the connection is not there.
int connect_to(const UniqueFd& socket, const char* text, std::uint16_t port) {
  const Address to = address_of(text, port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.size) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) return errno;
  pollfd event{socket.get(), POLLOUT, 0};
  if (::poll(&event, 1, 5000) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// Where the next connection that was accepted wanted to go: "address port".
std::string accepted(const UniqueFd& listener) {
  pollfd event{listener.get(), POLLIN, 0};
  if (::poll(&event, 1, 5000) != 1) return "nothing";
  const UniqueFd one(::accept(listener.get(), nullptr, nullptr));
  sockaddr_in6 self{};
  socklen_t size = sizeof self;
  ::getsockname(one.get(), reinterpret_cast<sockaddr*>(&self), &size);
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, &self.sin6_addr, text, sizeof text);
  return std::string(text) + " " + std::to_string(ntohs(self.sin6_port));
}

// Runs in a namespace of its own; what is said there on standard error is the test's.
void in_namespace(const std::function<void()>& body) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(kNoNamespaces);
    if (bring_loopback_up() != 0) ::_exit(kNoNamespaces);
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNamespaces) GTEST_SKIP() << "no namespaces";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(OwnNetwork, EveryConnectionComesToOneSocketAndSaysWhereItWantedToGo) {
  in_namespace([] {
    auto sockets = prepare_own_network();
    ASSERT_TRUE(sockets) << sockets.error().message();
    ASSERT_TRUE(raise_own_network());
    const struct {
      const char* to;
      std::uint16_t port;
      const char* seen;
    } cases[] = {{"93.184.216.34", 443, "::ffff:93.184.216.34 443"},
                 {"8.8.8.8", 1, "::ffff:8.8.8.8 1"},
                 {"169.254.169.254", 80, "::ffff:169.254.169.254 80"},
                 {"10.0.0.1", 65535, "::ffff:10.0.0.1 65535"},
                 {"100.64.0.53", 53, "::ffff:100.64.0.53 53"},
                 {"2606:2800:220:1::1", 22, "2606:2800:220:1::1 22"},
                 {"fe80::1234", 80, nullptr},  // needs a device
                 {"fd00:ec2::254", 80, "fd00:ec2::254 80"}};
    for (const auto& one : cases) {
      const UniqueFd client = socket_for(one.to, SOCK_STREAM);
      const int error = connect_to(client, one.to, one.port);
      if (one.seen == nullptr) {
        EXPECT_NE(error, 0) << one.to;
        continue;
      }
      EXPECT_EQ(error, 0) << one.to;
      EXPECT_EQ(accepted(sockets->connections), one.seen);
    }
  });
}

TEST(OwnNetwork, UntilItIsRaisedNothingIsReachable) {
  in_namespace([] {
    auto sockets = prepare_own_network();
    ASSERT_TRUE(sockets);
    EXPECT_EQ(connect_to(socket_for("8.8.8.8", SOCK_STREAM), "8.8.8.8", 443), ENETUNREACH);
    EXPECT_EQ(connect_to(socket_for("2606::1", SOCK_STREAM), "2606::1", 443), ENETUNREACH);
    EXPECT_EQ(connect_to(socket_for(kNameServer, SOCK_DGRAM), kNameServer, 53), ENETUNREACH);
  });
}

TEST(OwnNetwork, LoopbackAndTheOwnAddressAreLeftAlone) {
  in_namespace([] {
    auto sockets = prepare_own_network();
    ASSERT_TRUE(sockets);
    ASSERT_TRUE(raise_own_network());
    for (const char* to : {"127.0.0.1", "127.9.9.9", "100.64.0.1", "::1", "fd00:67:62::1"}) {
      EXPECT_EQ(connect_to(socket_for(to, SOCK_STREAM), to, 8080), ECONNREFUSED) << to;
      // Where our own socket listens for the rest of the world.
      EXPECT_EQ(connect_to(socket_for(to, SOCK_STREAM), to, 1), ECONNREFUSED) << to;
    }
    const UniqueFd server = socket_for("127.0.0.1", SOCK_STREAM);
    const Address here = address_of("127.0.0.1", 8080);
    ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&here.storage), here.size), 0);
    ASSERT_EQ(::listen(server.get(), 1), 0);
    EXPECT_EQ(connect_to(socket_for("127.0.0.1", SOCK_STREAM), "127.0.0.1", 8080), 0);
  });
}

TEST(OwnNetwork, NamesAreAnsweredFromTheAddressThatWasAsked) {
  in_namespace([] {
    auto sockets = prepare_own_network();
    ASSERT_TRUE(sockets);
    ASSERT_TRUE(raise_own_network());
    for (const char* to : {kNameServer, "8.8.8.8", "1.1.1.1"}) {
      const UniqueFd client = socket_for(to, SOCK_DGRAM);
      ASSERT_EQ(connect_to(client, to, 53), 0);  // takes answers from there only
      ASSERT_EQ(::send(client.get(), "?", 1, 0), 1);
      pollfd event{sockets->names.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&event, 1, 5000), 1) << to;
      char byte = 0;
      sockaddr_in from{};
      iovec part{&byte, 1};
      alignas(cmsghdr) char control[128];
      msghdr message{};
      message.msg_name = &from;
      message.msg_namelen = sizeof from;
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      ASSERT_EQ(::recvmsg(sockets->names.get(), &message, 0), 1);
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      ASSERT_NE(head, nullptr);
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(head), sizeof info);
      char text[INET_ADDRSTRLEN] = "";
      ::inet_ntop(AF_INET, &info.ipi_addr, text, sizeof text);
      EXPECT_STREQ(text, to);
      info.ipi_spec_dst = info.ipi_addr;
      info.ipi_ifindex = 0;
      std::memcpy(CMSG_DATA(head), &info, sizeof info);
      message.msg_controllen = CMSG_SPACE(sizeof info);
      ASSERT_EQ(::sendmsg(sockets->names.get(), &message, 0), 1) << std::strerror(errno);
      event = {client.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&event, 1, 5000), 1) << to;
      EXPECT_EQ(::recv(client.get(), &byte, 1, 0), 1);
    }
  });
}

TEST(OwnNetwork, OtherDatagramsAreRefusedAtOnce) {
  in_namespace([] {
    auto sockets = prepare_own_network();
    ASSERT_TRUE(sockets);
    ASSERT_TRUE(raise_own_network());
    const struct {
      const char* to;
      std::uint16_t port;
    } cases[] = {{"8.8.8.8", 443}, {"8.8.8.8", 123}, {"2606::1", 443}, {"2606::1", 53}};
    for (const auto& one : cases) {
      const UniqueFd client = socket_for(one.to, SOCK_DGRAM);
      ASSERT_EQ(connect_to(client, one.to, one.port), 0);
      ASSERT_EQ(::send(client.get(), "?", 1, 0), 1);
      pollfd event{client.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&event, 1, 5000), 1) << one.to;
      char byte = 0;
      EXPECT_EQ(::recv(client.get(), &byte, 1, 0), -1);
      EXPECT_EQ(errno, ECONNREFUSED) << one.to << " " << one.port;
    }
  });
}

TEST(OwnNetwork, NewConnectionsBeyondARateAreReset) {
  in_namespace([] {
    auto sockets = prepare_own_network();
    ASSERT_TRUE(sockets);
    ASSERT_TRUE(raise_own_network());
    int refused = 0;
    for (int i = 0; i < 4000 && refused < 100; ++i) {
      const UniqueFd client = socket_for("8.8.8.8", SOCK_STREAM);
      if (connect_to(client, "8.8.8.8", 443) == ECONNREFUSED) ++refused;
      while (::close(::accept(sockets->connections.get(), nullptr, nullptr)) == 0) {
      }
    }
    EXPECT_EQ(refused, 100);
  });
}

}  // namespace
}  // namespace glovebox::sys
