#include "bench/network_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns_message.h"

namespace glovebox::bench {
namespace {

using ::testing::HasSubstr;

const net::IpAddress kLoopback = net::IpAddress::v4({127, 0, 0, 1});

std::string picked(const std::vector<net::IpAddress>& all) {
  const auto address = pick_address(all);
  return address ? address->text() : address.error().message();
}

UniqueFd connect_to(const NetworkPeer& peer) {
  const sockaddr_storage at = peer.address().to_sockaddr(peer.port());
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at),
                      net::IpAddress::sockaddr_size(at)),
            0);
  return socket;
}

void put(const UniqueFd& socket, const std::string& bytes) {
  EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

// Up to the end, or `most`.
std::string get(const UniqueFd& socket, std::size_t most) {
  std::string all(most, '\0');
  const ssize_t got = ::recv(socket.get(), all.data(), most, MSG_WAITALL);
  all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return all;
}

TEST(NetworkFixture, PicksNeitherLoopbackNorLinkLocalAddresses) {
  const net::IpAddress link = net::IpAddress::v4({169, 254, 3, 4});
  EXPECT_EQ(picked({kLoopback, link, net::IpAddress::v4({10, 1, 2, 3})}), "10.1.2.3");
  EXPECT_THAT(picked({kLoopback, link}), HasSubstr("no address but loopback"));
  EXPECT_THAT(picked({}), HasSubstr("no address but loopback"));
}

TEST(NetworkFixture, HasNoSettingsWithoutAnAddress) {
  NetworkFixture fixture;
  fixture.unavailable_reason = "the host has no address but loopback";
  EXPECT_TRUE(fixture.settings().empty());
}

TEST(NetworkPeer, EchoesAndCountsConnections) {
  const auto peer = NetworkPeer::listen(kLoopback).value();
  UniqueFd one = connect_to(*peer);
  put(one, "ex");
  EXPECT_EQ(get(one, 1), "x");
  const UniqueFd other = connect_to(*peer);
  put(other, "e");
  put(other, "ab");
  EXPECT_EQ(get(other, 2), "ab");
  EXPECT_EQ(peer->echoing(), 2u);
  one.reset();
  put(other, "c");  // behind the end of the first in the same queue
  EXPECT_EQ(get(other, 1), "c");
}

TEST(NetworkPeer, DiscardsAndCountsBytes) {
  const auto peer = NetworkPeer::listen(kLoopback).value();
  const UniqueFd socket = connect_to(*peer);
  put(socket, "s" + std::string(3 << 10, 'x'));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(get(socket, 9), std::string("\x00\x0c\x00\x00\x00\x00\x00\x00", 8));
}

TEST(NetworkPeer, SendsTheRequestedBytes) {
  const auto peer = NetworkPeer::listen(kLoopback).value();
  const UniqueFd socket = connect_to(*peer);
  put(socket, std::string("r\x03\x00\x10\x00\x00\x00\x00\x00", 9));
  EXPECT_EQ(get(socket, 2 << 20), std::string((1 << 20) + 3, '\0'));
}

TEST(NetworkPeer, EndsWithOpenConnections) {
  auto peer = NetworkPeer::listen(kLoopback).value();
  const UniqueFd echo = connect_to(*peer);
  put(echo, "ex");
  EXPECT_EQ(get(echo, 1), "x");
  const UniqueFd sink = connect_to(*peer);
  put(sink, "s12");
  peer.reset();
  EXPECT_EQ(get(echo, 1), "");
}

TEST(NetworkPeer, ClosesOnAnUnknownFirstByte) {
  const auto peer = NetworkPeer::listen(kLoopback).value();
  const UniqueFd socket = connect_to(*peer);
  put(socket, "?");
  EXPECT_EQ(get(socket, 1), "");
}

TEST(DnsServer, KnowsOneName) {
  const net::HostName name = net::HostName::parse("bench.example").value();
  const net::IpAddress address = net::IpAddress::v4({10, 1, 2, 3});
  const auto names = DnsServer::answer(name, address).value();
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_storage at = kLoopback.to_sockaddr(names->port());
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at),
                      net::IpAddress::sockaddr_size(at)),
            0);
  const auto asked = [&](const net::HostName& which) {
    const auto question = net::write_question(7, which, net::DnsType::kA);
    EXPECT_EQ(::send(socket.get(), question.data(), question.size(), 0),
              static_cast<ssize_t>(question.size()));
    std::vector<std::byte> answer(net::kMaxDnsAnswer);
    answer.resize(static_cast<std::size_t>(::recv(socket.get(), answer.data(), answer.size(), 0)));
    return net::read_answer(answer, 7, which, net::DnsType::kA).value();
  };
  EXPECT_EQ(asked(name).addresses, std::vector<net::IpAddress>{address});
  EXPECT_EQ(asked(net::HostName::parse("other.example").value()).code, net::DnsCode::kNxDomain);
}

}  // namespace
}  // namespace glovebox::bench
