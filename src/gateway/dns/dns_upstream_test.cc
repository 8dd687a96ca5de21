#include "gateway/dns/dns_upstream.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "gateway/testing/scripted_dns.h"

namespace glovebox::gateway {
namespace {

using Asked = ScriptedDns::Asked;
using Bytes = ScriptedDns::Bytes;
using namespace std::chrono_literals;

const std::vector<net::IpAddress> kAddresses = {ip("192.0.2.1"), ip("192.0.2.2")};

class DnsUpstreamTest : public ::testing::Test {
 protected:
  Result<net::DnsAnswer> ask(std::vector<DnsServer> servers, UpstreamOptions options = {}) {
    DnsUpstream upstream(io, options);
    auto result =
        finish(io, upstream.ask(std::move(servers), host("www.example.org"), net::DnsType::kA));
    EXPECT_EQ(upstream.open(), 0u);
    return result;
  }
  // Purpose purpose is never answered: as short as can be.
  static constexpr UpstreamOptions kShort{.try_time = 150ms, .whole_time = 2s};
  asio::io_context io;
};

TEST_F(DnsUpstreamTest, TakesTheAnswerToItsQuestion) {
  ScriptedDns dns(io, [](const Asked& asked) { return one(good(asked, kAddresses)); });
  const auto answer = ask({dns.server()});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->addresses, kAddresses);
  EXPECT_EQ(answer->ttl_s, 300u);
  ASSERT_EQ(dns.asked().size(), 1u);
  EXPECT_TRUE(dns.asked()[0].query.recursion_desired);
  EXPECT_FALSE(dns.asked()[0].query.has_opt);
  EXPECT_EQ(dns.asked()[0].query.name, host("www.example.org"));
}

TEST_F(DnsUpstreamTest, ANameThatDoesNotExistIsAnAnswer) {
  ScriptedDns dns(
      io, [](const Asked& asked) { return one(with_code(asked, net::DnsCode::kNxDomain)); });
  const auto answer = ask({dns.server(), dns.server()});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code, net::DnsCode::kNxDomain);
  EXPECT_EQ(dns.asked().size(), 1u);
}

TEST_F(DnsUpstreamTest, EachQuestionHasAnIdAndAPortOfItsOwn) {
  ScriptedDns dns(io, [](const Asked& asked) { return one(good(asked, kAddresses)); });
  std::set<std::uint16_t> ids;
  std::set<std::uint16_t> ports;
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(ask({dns.server()}).has_value());
  for (const Asked& asked : dns.asked()) {
    ids.insert(asked.query.id);
    ports.insert(asked.from.port());
  }
  // Of 65,536 and some 28,000: a few may meet, and a counter or a fixed one would not look so.
  EXPECT_GE(ids.size(), 60u);
  EXPECT_GE(ports.size(), 50u);
  std::set<int> steps;
  for (std::size_t i = 1; i < dns.asked().size(); ++i) {
    steps.insert(dns.asked()[i].query.id - dns.asked()[i - 1].query.id);
  }
  EXPECT_GE(steps.size(), 50u);
}

TEST_F(DnsUpstreamTest, AnswersToOtherQuestionsAreAsIfTheyHadNotCome) {
  ScriptedDns dns(io, [](const Asked& asked) {
    std::vector<Bytes> out;
    const std::vector wrong = {ip("203.0.113.66")};
    Asked other = asked;
    other.query.id ^= 1;
    out.push_back(good(other, wrong));
    other = asked;
    other.query.asked_name[1] = 'x';
    out.push_back(good(other, wrong));
    other = asked;
    other.query.type = 28;
    out.push_back(good(other, wrong));
    out.push_back(Bytes(5));
    out.push_back(Bytes());
    out.push_back(good(asked, kAddresses));
    return out;
  });
  const auto answer = ask({dns.server()});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->addresses, kAddresses);
  EXPECT_EQ(dns.asked().size(), 1u);
}

TEST_F(DnsUpstreamTest, IgnoresDatagramsFromElsewhere) {
  ScriptedDns* self = nullptr;
  ScriptedDns dns(io, [&](const Asked& asked) {
    self->send_from_elsewhere(asked.from, good(asked, {ip("203.0.113.66")}));
    return one(good(asked, kAddresses));
  });
  self = &dns;
  const auto answer = ask({dns.server()});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->addresses, kAddresses);
}

TEST_F(DnsUpstreamTest, ManyWrongIdsEndTheAttemptAndTheNextUsesAnotherPort) {
  ScriptedDns dns(io, [](const Asked& asked) {
    Asked other = asked;
    std::vector<Bytes> out;
    for (int i = 0; i < 10; ++i) {
      ++other.query.id;
      out.push_back(good(other, {ip("203.0.113.66")}));
    }
    return out;
  });
  const auto answer = ask({dns.server()}, {.try_time = 5s, .max_mismatched = 10});
  ASSERT_FALSE(answer.has_value());
  ASSERT_EQ(dns.asked().size(), 2u);
  EXPECT_NE(std::tuple(dns.asked()[0].from, dns.asked()[0].query.id),
            std::tuple(dns.asked()[1].from, dns.asked()[1].query.id));
}

TEST_F(DnsUpstreamTest, ALateAnswerIsNotTakenForTheNextQuestion) {
  ScriptedDns* self = nullptr;
  std::optional<Asked> first;
  ScriptedDns dns(io, [&](const Asked& asked) -> std::vector<Bytes> {
    if (!first) {
      first = asked;
      return {};
    }
    const Bytes late = good(*first, {ip("203.0.113.66")});
    self->send(first->from, late);  // the receiver has gone
    return {late, good(asked, kAddresses)};
  });
  self = &dns;
  const auto answer = ask({dns.server()}, kShort);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->addresses, kAddresses);
  EXPECT_EQ(dns.asked().size(), 2u);
}

TEST_F(DnsUpstreamTest, AsksOverTcpWhenTheAnswerWasCut) {
  std::vector<net::IpAddress> many;
  for (int i = 0; i < 60; ++i) many.push_back(ip("192.0.2." + std::to_string(i)));
  ScriptedDns dns(
      io, [&](const Asked& asked) { return one(asked.over_tcp ? good(asked, many) : cut(asked)); });
  const auto answer = ask({dns.server()});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->addresses, many);
  ASSERT_EQ(dns.asked().size(), 2u);
  EXPECT_TRUE(dns.asked()[1].over_tcp);
}

TEST_F(DnsUpstreamTest, OverTcpTheAnswerMustBeToTheQuestionAndWhole) {
  int round = 0;
  ScriptedDns dns(io, [&](const Asked& asked) {
    if (!asked.over_tcp) return one(cut(asked));
    Asked other = asked;
    other.query.id ^= 1;
    return one(++round == 1 ? good(other, kAddresses) : cut(asked));
  });
  EXPECT_FALSE(ask({dns.server()}).has_value());
  EXPECT_EQ(round, 2);
}

TEST_F(DnsUpstreamTest, OverTcpTheAnswerIsBounded) {
  ScriptedDns dns(io, [&](const Asked& asked) {
    if (!asked.over_tcp) return one(cut(asked));
    Bytes large = good(asked, kAddresses);
    large.resize(60000);
    return one(large);
  });
  EXPECT_FALSE(ask({dns.server()}).has_value());
}

TEST_F(DnsUpstreamTest, OverTcpSilenceEndsTheTry) {
  ScriptedDns dns(io, [&](const Asked& asked) {
    return asked.over_tcp ? std::vector<Bytes>() : one(cut(asked));
  });
  EXPECT_FALSE(ask({dns.server()}, kShort).has_value());
}

TEST_F(DnsUpstreamTest, GoesOnToTheNextServer) {
  ScriptedDns fails(
      io, [](const Asked& asked) { return one(with_code(asked, net::DnsCode::kServFail)); });
  ScriptedDns refuses(
      io, [](const Asked& asked) { return one(with_code(asked, net::DnsCode::kRefused)); });
  ScriptedDns answers(io, [](const Asked& asked) { return one(good(asked, kAddresses)); });
  const auto answer = ask({fails.server(), refuses.server(), answers.server()});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->addresses, kAddresses);
  EXPECT_EQ(fails.asked().size(), 1u);
  EXPECT_EQ(refuses.asked().size(), 1u);
}

TEST_F(DnsUpstreamTest, AServerThatIsNotThereIsPassedOverAtOnce) {
  DnsServer gone = ScriptedDns(io, [](const Asked&) { return std::vector<Bytes>(); }).server();
  ScriptedDns answers(io, [](const Asked& asked) { return one(good(asked, kAddresses)); });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(ask({gone, answers.server()}, {.try_time = 10s, .whole_time = 15s}).has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 8s);
}

TEST_F(DnsUpstreamTest, SilenceIsTriedTwiceAndThenATimeout) {
  ScriptedDns dns(io, [](const Asked&) { return std::vector<Bytes>(); });
  const auto answer = ask({dns.server()}, kShort);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Errc::kTimeout);
  EXPECT_EQ(dns.asked().size(), 2u);
}

TEST_F(DnsUpstreamTest, AServerThatWasSilentIsAskedLastUntilItAnswers) {
  bool is_silent = true;
  ScriptedDns first(io, [&](const Asked& asked) {
    return is_silent ? std::vector<Bytes>() : one(good(asked, kAddresses));
  });
  ScriptedDns second(io, [&](const Asked& asked) {
    return is_silent ? one(good(asked, kAddresses)) : std::vector<Bytes>();
  });
  DnsUpstream upstream(io, kShort);
  const auto ask_again = [&] {
    return finish(io, upstream.ask({first.server(), second.server()}, host("a.example"),
                                   net::DnsType::kA))
        .has_value();
  };
  EXPECT_TRUE(ask_again());
  EXPECT_TRUE(ask_again());
  EXPECT_TRUE(ask_again());
  EXPECT_EQ(first.asked().size(), 1u) << "only the first question waited for it";
  is_silent = false;
  EXPECT_TRUE(ask_again());
  EXPECT_TRUE(ask_again());
  EXPECT_EQ(second.asked().size(), 4u) << "now the other one is silent";
}

TEST_F(DnsUpstreamTest, FailureEverywhereIsAFailure) {
  ScriptedDns dns(
      io, [](const Asked& asked) { return one(with_code(asked, net::DnsCode::kServFail)); });
  const auto answer = ask({dns.server()});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Errc::kUnavailable);
  EXPECT_FALSE(ask({}).has_value());
}

TEST_F(DnsUpstreamTest, AnAnswerThatMakesNoSenseEndsTheTryAtOnce) {
  ScriptedDns dns(io, [](const Asked& asked) {
    Bytes bytes = good(asked, kAddresses);
    bytes.resize(bytes.size() - 3);
    return one(bytes);
  });
  const auto answer = ask({dns.server()}, {.try_time = 10s, .whole_time = 15s});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Errc::kProtocol);
}

TEST_F(DnsUpstreamTest, TheWholeTimeBoundsAllTries) {
  ScriptedDns dns(io, [](const Asked&) { return std::vector<Bytes>(); });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(ask({dns.server(), dns.server(), dns.server()},
                   {.try_time = 10s, .whole_time = 50ms, .tries = 5})
                   .has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(dns.asked().size(), 1u);
}

TEST_F(DnsUpstreamTest, QuestionsUnderWayAreBounded) {
  ScriptedDns dns(io, [](const Asked&) { return std::vector<Bytes>(); });
  DnsUpstream upstream(io, {.try_time = 50ms, .whole_time = 60ms, .max_open = 2});
  std::vector<Errc> ends;
  for (int i = 0; i < 3; ++i) {
    asio::co_spawn(io, upstream.ask({dns.server()}, host("a.example"), net::DnsType::kA),
                   [&](std::exception_ptr, Result<net::DnsAnswer> answer) {
                     ends.push_back(answer.error().code());
                   });
  }
  while (ends.size() < 3) io.run_one();
  EXPECT_EQ(ends, (std::vector{Errc::kResourceExhausted, Errc::kTimeout, Errc::kTimeout}));
  EXPECT_EQ(upstream.open(), 0u);
}

}  // namespace
}  // namespace glovebox::gateway
