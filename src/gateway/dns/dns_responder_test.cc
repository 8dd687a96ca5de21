#include "gateway/dns/dns_responder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <set>

#include "gateway/testing/scripted_dns.h"

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;
using Asked = ScriptedDns::Asked;
using Bytes = ScriptedDns::Bytes;
using net::DnsCode;

sockaddr_in at(const char* address, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &out.sin_addr);
  return out;
}

// Asks at one address of the loopback's and hears nothing but what comes from there.
class Guest {
 public:
  explicit Guest(std::uint16_t port, const char* server = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const sockaddr_in to = at(server, port);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  void send(const Bytes& bytes) { (void)::send(fd_.get(), bytes.data(), bytes.size(), 0); }
  void ask(std::uint16_t id, std::string_view name, net::DnsType type = net::DnsType::kA) {
    send(net::write_question(id, host(name), type));
  }
  std::optional<Bytes> receive() {
    Bytes bytes(2048);
    const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }

 private:
  UniqueFd fd_;
};

class DnsResponderTest : public ::testing::Test {
 protected:
  DnsResponderTest()
      : dns(io, [](const Asked& asked) { return one(good(asked, {ip("93.184.216.34")})); }),
        resolver(io, {.servers = {dns.server()}, .has_ipv6 = [] { return false; }}) {
    net::NetRules rules;
    rules.policy.allow.push_back(net::NetRule::parse("*.example.org").value());
    names = SandboxNames::make(
        resolver, {.tenant = "t"}, std::make_shared<const net::NetRules>(std::move(rules)),
        [this](wire::NetDecision decision) { decisions.push_back(std::move(decision)); },
        [this] { return now; });
    UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
    sockaddr_in any = at("0.0.0.0", 0);
    socklen_t size = sizeof any;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&any), size), 0);
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&any), &size);
    port = ntohs(any.sin_port);
    responder = DnsResponder::open(io, std::move(socket), names).value();
  }
  Bytes wait_for(Guest& guest) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < end) {
      if (auto bytes = guest.receive()) return *bytes;
      io.run_one_for(50ms);
    }
    ADD_FAILURE() << "no answer";
    return Bytes(12);
  }
  // What there is to do now, and no more.
  void settle() {
    while (io.poll() > 0) {
    }
  }
  static DnsCode code(const Bytes& bytes) {
    return static_cast<DnsCode>(std::to_integer<int>(bytes.at(3)) & 0xf);
  }

  asio::io_context io;
  ScriptedDns dns;
  Resolver resolver;
  std::shared_ptr<SandboxNames> names;
  std::vector<wire::NetDecision> decisions;
  std::chrono::steady_clock::time_point now{100h};
  std::uint16_t port = 0;
  std::unique_ptr<DnsResponder> responder;
};

TEST_F(DnsResponderTest, AnswersAQuestion) {
  Guest guest(port);
  guest.ask(0x4242, "www.example.org");
  const auto answer =
      net::read_answer(wait_for(guest), 0x4242, host("www.example.org"), net::DnsType::kA);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->addresses, std::vector{ip("93.184.216.34")});
  EXPECT_EQ(names->names_of(ip("93.184.216.34")), std::vector{host("www.example.org")});
  // And once more, out of the cache.
  guest.ask(0x4243, "www.example.org");
  EXPECT_EQ(code(wait_for(guest)), DnsCode::kNoError);
  EXPECT_EQ(dns.asked().size(), 1u);
}

TEST_F(DnsResponderTest, AnswersFromTheAddressThatWasAsked) {
  // A connected socket hears only from the address it asked.
  for (const char* server : {"127.0.0.1", "127.0.0.77", "127.9.9.9"}) {
    Guest guest(port, server);
    guest.ask(1, "www.example.org");
    EXPECT_EQ(code(wait_for(guest)), DnsCode::kNoError) << server;
  }
}

TEST_F(DnsResponderTest, ADeniedNameDoesNotExistAndIsNotQueried) {
  Guest guest(port);
  guest.ask(1, "c2VjcmV0.evil.example");
  EXPECT_EQ(code(wait_for(guest)), DnsCode::kNxDomain);
  EXPECT_TRUE(dns.asked().empty());
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].name, "c2vjcmv0.evil.example");
}

TEST_F(DnsResponderTest, WrongQuestionsHaveWrongAnswersOrNone) {
  Guest guest(port);
  guest.send(Bytes(3));
  guest.send(Bytes());
  Bytes answer = net::write_question(7, host("www.example.org"), net::DnsType::kA);
  answer[2] |= std::byte{0x80};
  guest.send(answer);
  guest.send(Bytes(2000));
  EXPECT_EQ(code(wait_for(guest)), DnsCode::kFormErr);
  Bytes two = net::write_question(7, host("www.example.org"), net::DnsType::kA);
  two[5] = std::byte{2};
  guest.send(two);
  EXPECT_EQ(code(wait_for(guest)), DnsCode::kFormErr);
  settle();
  EXPECT_FALSE(guest.receive().has_value());
  EXPECT_TRUE(dns.asked().empty());
}

TEST_F(DnsResponderTest, AFloodIsRefusedThenLeftAlone) {
  Guest guest(port);
  int answers = 0;
  int refused = 0;
  // In pieces, so that no buffer is too small for it.
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 20; ++i) guest.ask(static_cast<std::uint16_t>(i), "no.evil.example");
    settle();
    while (const auto bytes = guest.receive()) {
      ++answers;
      refused += code(*bytes) == DnsCode::kRefused ? 1 : 0;
    }
  }
  EXPECT_EQ(answers, 300);
  EXPECT_EQ(refused, 100);
  // When time has passed it is served again. It asks more than once, as resolvers of guests do: its
  // own flood may have left no room in the socket.
  const auto until = std::chrono::steady_clock::now() + 10s;
  bool served = false;
  while (!served && std::chrono::steady_clock::now() < until) {
    now += 10s;
    guest.ask(77, "www.example.org");
    io.run_one_for(50ms);
    while (const auto bytes = guest.receive()) {
      served = served || code(*bytes) == DnsCode::kNoError;
    }
  }
  EXPECT_TRUE(served);
}

TEST_F(DnsResponderTest, OthersHaveTheirTurnDuringAFlood) {
  Guest guest(port);
  for (int i = 0; i < 100; ++i) guest.ask(static_cast<std::uint16_t>(i), "no.evil.example");
  int turns = 0;
  // A chain of posts is other work: it goes on between the responder's pieces.
  std::function<void()> work = [&] {
    ++turns;
    if (decisions.size() < 100 && turns < 100000) asio::post(io, work);
  };
  asio::post(io, work);
  while (decisions.size() < 100) io.run_one();
  EXPECT_GE(turns, 5);
}

TEST_F(DnsResponderTest, ManyQuestionsThatWaitAreBounded) {
  ScriptedDns silent(io, [](const Asked&) { return std::vector<Bytes>(); });
  Resolver slow(io, {.servers = {silent.server()},
                     .upstream = {.try_time = 60s, .whole_time = 60s},
                     .has_ipv6 = [] { return false; }});
  net::NetRules rules;
  rules.policy.base = net::NetBase::kAll;
  const auto waiting = SandboxNames::make(slow, {.tenant = "t", .max_open = 4},
                                          std::make_shared<const net::NetRules>(rules), nullptr);
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  sockaddr_in any = at("127.0.0.1", 0);
  socklen_t size = sizeof any;
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&any), size), 0);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&any), &size);
  auto busy = DnsResponder::open(io, std::move(socket), waiting).value();
  Guest guest(ntohs(any.sin_port));
  for (int i = 0; i < 60; ++i) {
    guest.ask(static_cast<std::uint16_t>(i), "x" + std::to_string(i) + ".example");
    settle();
  }
  int refused = 0;
  while (const auto bytes = guest.receive()) refused += code(*bytes) == DnsCode::kRefused ? 1 : 0;
  EXPECT_EQ(refused, 56);
  EXPECT_EQ(silent.asked().size(), 4u);
}

TEST_F(DnsResponderTest, ClosesWithQuestionsUnderWay) {
  Guest guest(port);
  guest.ask(1, "www.example.org");
  while (dns.asked().empty()) io.run_one();
  responder.reset();
  names->close();
  settle();
  EXPECT_FALSE(guest.receive().has_value());
}

TEST_F(DnsResponderTest, TakesNoOtherSocket) {
  EXPECT_FALSE(
      DnsResponder::open(io, UniqueFd(::socket(AF_INET, SOCK_STREAM, 0)), names).has_value());
  EXPECT_FALSE(
      DnsResponder::open(io, UniqueFd(::socket(AF_UNIX, SOCK_DGRAM, 0)), names).has_value());
  EXPECT_FALSE(DnsResponder::open(io, UniqueFd(), names).has_value());
}

}  // namespace
}  // namespace glovebox::gateway
