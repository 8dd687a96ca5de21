// The gateway as a server uses it, with real sandbox networks and real connections.
#include "gateway/gateway.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>

#include "gateway/testing/test_box.h"
#include "gateway/testing/test_sockets.h"
#include "gateway/testing/test_world.h"

namespace glovebox::gateway {
namespace {

using testing::Box;
using testing::client_hello;
using testing::Guest;
using testing::in_box;
using testing::kOther;
using testing::kServer;
using testing::Listener;
using testing::policy;
using testing::Reader;
using testing::reset_now;
using testing::run_until;
using testing::say;
using testing::send_text;

TEST(Gateway, RelaysWhatThePolicyAllows) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 8000);
    ASSERT_TRUE(
        std::holds_alternative<wire::GatewayDone>(box.open(guest, policy(net::NetBase::kAll))));
    const UniqueFd client = say(box, guest.connect(kServer, 8000), "hello");
    EXPECT_TRUE(box.works(client, server));
    const wire::NetworkReport report = box.report();
    EXPECT_EQ(report.totals.connections, 1u);
    EXPECT_EQ(report.totals.open, 1u);
    EXPECT_EQ(report.totals.bytes_out, 5u);
    EXPECT_EQ(report.totals.bytes_in, 7u);
    ASSERT_EQ(report.decisions.size(), 1u);
    EXPECT_EQ(report.decisions[0].address, kServer);
    EXPECT_EQ(report.decisions[0].port, 8000);
    EXPECT_EQ(report.decisions[0].rule, "base all");
    EXPECT_EQ(report.decisions[0].bytes_out, 5u);
    EXPECT_EQ(box.news.size(), 1u);
  });
}

TEST(Gateway, ResetsWhatItDoesNot) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 8000);
    box.open(guest, policy(net::NetBase::kAll, {}, {"198.18.0.7/32"}));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    EXPECT_TRUE(box.is_refused(guest.connect("169.254.169.254", 80)));
    EXPECT_TRUE(box.is_refused(guest.connect("10.0.0.1", 80)));
    EXPECT_FALSE(server.accept());
    EXPECT_TRUE(box.has_decided(false, "deny 198.18.0.7/32"));
    EXPECT_TRUE(box.has_decided(false, "reserved: metadata"));
    EXPECT_TRUE(box.has_decided(false, "reserved: private"));
    EXPECT_EQ(box.report().totals.denied, 4u);
    EXPECT_EQ(box.report().totals.connections, 0u);
    EXPECT_EQ(box.news.size(), 3u);
  });
}

TEST(Gateway, ANameCountsForTheAddressesItResolvedTo) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 8000);
    box.names.addresses = {{"a.example.com", kServer}};
    box.open(guest, policy(net::NetBase::kNone, {"a.example.com:8000"}));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    EXPECT_EQ(guest.resolve(box.io, "a.example.com"),
              std::vector<net::IpAddress>{testing::ip(kServer)});
    const UniqueFd client = say(box, guest.connect(kServer, 8000), "hello");
    EXPECT_TRUE(box.works(client, server));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8001)));
    EXPECT_TRUE(guest.resolve(box.io, "b.example.com").empty());
    EXPECT_EQ(box.names.asked, std::vector<std::string>{"a.example.com"});
    EXPECT_EQ(box.report().totals.names, 1u);
  });
}

TEST(Gateway, Port443NeedsAServerName) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 443);
    box.names.addresses = {{"a.example.com", kServer}, {"b.example.com", kServer}};
    box.open(guest, policy(net::NetBase::kNone, {"a.example.com"}));
    guest.resolve(box.io, "a.example.com");
    const std::string hello = client_hello("a.example.com");
    const UniqueFd good = say(box, guest.connect(kServer, 443), hello);
    EXPECT_TRUE(box.works(good, server, hello));
    EXPECT_TRUE(
        box.is_refused(say(box, guest.connect(kServer, 443), client_hello("b.example.com"))));
    EXPECT_TRUE(box.is_refused(say(box, guest.connect(kServer, 443), "GET / HTTP/1.1\r\n\r\n")));
    EXPECT_TRUE(box.has_decided(false, "ClientHello: not TLS"));
    EXPECT_FALSE(server.accept());  // none of them was dialled
  });
}

TEST(Gateway, AHelloMayComeInPieces) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 443);
    box.names.addresses = {{"a.example.com", kServer}};
    box.open(guest, policy(net::NetBase::kHttpsOnly));
    guest.resolve(box.io, "a.example.com");
    const std::string hello = client_hello("a.example.com");
    UniqueFd client = guest.connect(kServer, 443);
    for (const char byte : hello) {
      EXPECT_FALSE(server.accept());
      client = say(box, std::move(client), std::string(1, byte));
      box.io.restart();
      box.io.run_for(std::chrono::milliseconds(2));
    }
    EXPECT_TRUE(box.works(client, server, hello));
  });
}

TEST(Gateway, AClientThatEndsInsideItsHelloIsRefused) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 443);
    box.open(guest, policy(net::NetBase::kHttpsOnly));
    const std::string hello = client_hello("a.example.com");
    UniqueFd client = say(box, guest.connect(kServer, 443), hello.substr(0, 20));
    ::shutdown(client.get(), SHUT_WR);
    EXPECT_TRUE(box.is_refused(client));
    EXPECT_TRUE(box.has_decided(false, "ClientHello: ended inside the ClientHello"));
  });
}

// A program that has the address from elsewhere: the gateway asks its own resolver.
TEST(Gateway, ANameThatWasNotAskedForIsAskedForNow) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 443);
    box.names.addresses = {{"a.example.com", kServer}, {"b.example.com", kOther}};
    box.open(guest, policy(net::NetBase::kHttpsOnly, {}, {"evil.example.com"}));
    const std::string hello = client_hello("a.example.com");
    const UniqueFd client = say(box, guest.connect(kServer, 443), hello);
    EXPECT_TRUE(box.works(client, server, hello));
    EXPECT_TRUE(
        box.is_refused(say(box, guest.connect(kServer, 443), client_hello("b.example.com"))));
    EXPECT_TRUE(
        box.is_refused(say(box, guest.connect(kServer, 443), client_hello("evil.example.com"))));
    EXPECT_EQ(std::count(box.names.asked.begin(), box.names.asked.end(), "evil.example.com"), 0);
    EXPECT_FALSE(server.accept());
  });
}

TEST(Gateway, WithDeniedNamesAllLetsThroughWhatIsNoTls) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 443);
    box.open(guest, policy(net::NetBase::kAll, {}, {"evil.example.com"}));
    const UniqueFd client = say(box, guest.connect(kServer, 443), "SSH-2.0-a");
    EXPECT_TRUE(box.works(client, server, "SSH-2.0-a"));
    EXPECT_TRUE(
        box.is_refused(say(box, guest.connect(kServer, 443), client_hello("evil.example.com"))));
    EXPECT_TRUE(box.has_decided(false, "deny evil.example.com"));
  });
}

TEST(Gateway, ThisHostsOwnAddressesAreNotReached) {
  in_box([] {
    GatewayOptions options;
    options.server_port = 8001;
    Box box(std::move(options));
    Guest guest;
    Listener own("45.90.28.1", 8000);
    Listener server(kServer, 8001);
    box.open(guest, policy(net::NetBase::kAll));
    EXPECT_TRUE(box.is_refused(guest.connect("45.90.28.1", 8000)));
    EXPECT_TRUE(box.has_decided(false, "reserved: this host"));
    // 198.18.0.7 is the box's own too, but its range was opened. The server's port stays shut.
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8001)));
    EXPECT_TRUE(box.has_decided(false, "reserved: the server's port"));
    EXPECT_FALSE(own.accept());
    EXPECT_FALSE(server.accept());
  });
}

TEST(Gateway, ANewPolicyCutsWhatItForbidsAndLeavesTheRest) {
  in_box([] {
    Box box;
    Guest guest;
    Listener first(kServer, 8000);
    Listener second(kOther, 8000);
    box.open(guest, policy(net::NetBase::kAll));
    const UniqueFd to_first = say(box, guest.connect(kServer, 8000), "hello");
    EXPECT_TRUE(box.works(to_first, first));
    UniqueFd to_second = guest.connect(kOther, 8000);
    const UniqueFd at_second = box.accepted(second);
    const auto changed = box.gateway->answer(
        wire::ChangePolicy{3, box.id, policy(net::NetBase::kNone, {"198.18.0.8:8000"})}, {});
    EXPECT_TRUE(std::holds_alternative<wire::GatewayDone>(changed));
    EXPECT_TRUE(box.is_refused(to_first));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    Reader reader(at_second.get());
    to_second = say(box, std::move(to_second), "still here");
    EXPECT_TRUE(run_until(box.io, [&] { return reader.has("still here"); }));
    EXPECT_EQ(box.report().totals.open, 1u);
  });
}

TEST(Gateway, EnforcesBudgetsAndReportsThatTheyAreSpent) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 8000);
    net::NetPolicy two = policy(net::NetBase::kAll);
    two.budgets.connections = 2;
    box.open(guest, two);
    const UniqueFd first = say(box, guest.connect(kServer, 8000), "hello");
    EXPECT_TRUE(box.works(first, server));
    EXPECT_EQ(box.report().totals.spent, 0);
    const UniqueFd second = say(box, guest.connect(kServer, 8000), "hello");
    EXPECT_TRUE(box.works(second, server));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    EXPECT_TRUE(box.has_decided(false, "budget: connections"));
    EXPECT_EQ(box.report().totals.spent, static_cast<std::uint8_t>(wire::NetBudget::kConnections));
    EXPECT_EQ(box.report().totals.connections, 2u);
  });
}

TEST(Gateway, BytesBeyondTheBudgetDoNotLeave) {
  in_box([] {
    GatewayOptions options;
    options.ceiling.policy.budgets.bytes_out = 3;  // the administrator's, without a request
    Box box(std::move(options));
    Guest guest;
    Listener server(kServer, 8000);
    box.open(guest, policy(net::NetBase::kAll));
    const UniqueFd client = say(box, guest.connect(kServer, 8000), "hello");
    const UniqueFd at_server = box.accepted(server);
    Reader reader(at_server.get());
    EXPECT_TRUE(run_until(box.io, [&] { return reader.is_over(); }));
    EXPECT_EQ(reader.text, "hel");
    EXPECT_TRUE(box.is_refused(client));
    EXPECT_TRUE(box.has_decided(false, "budget: bytes_out"));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    EXPECT_EQ(box.report().totals.spent, static_cast<std::uint8_t>(wire::NetBudget::kBytesOut));
  });
}

TEST(Gateway, OnlySoManyAreOpenAtOnce) {
  in_box([] {
    GatewayOptions options;
    options.max_open = 2;
    Box box(std::move(options));
    Guest guest;
    Listener server(kServer, 8000);
    box.open(guest, policy(net::NetBase::kAll));
    UniqueFd first = guest.connect(kServer, 8000);
    UniqueFd second = guest.connect(kServer, 8000);
    const UniqueFd a = box.accepted(server);
    const UniqueFd b = box.accepted(server);
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    EXPECT_TRUE(box.has_decided(false, "limit: open connections"));
    ASSERT_TRUE(run_until(box.io, [&] { return box.report().totals.open == 2; }));
    reset_now(first);
    ASSERT_TRUE(run_until(box.io, [&] { return box.report().totals.open == 1; }));
    const UniqueFd third = say(box, guest.connect(kServer, 8000), "hello");
    EXPECT_TRUE(box.works(third, server));
  });
}

TEST(Gateway, HasOnlyAsManyNetworksAsItsDescriptorsAllow) {
  in_box([] {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{256, before.rlim_max};  // a sixteenth of them is for networks
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    Box box;
    Guest guest;
    const auto opens = [&] {
      wire::OpenNetwork request{1, SandboxId::make(), "default", policy(net::NetBase::kAll)};
      return std::holds_alternative<wire::GatewayDone>(
          box.gateway->answer(std::move(request), guest.lend()));
    };
    for (int i = 0; i < 16; ++i) EXPECT_TRUE(opens()) << i;
    EXPECT_FALSE(opens());
    EXPECT_EQ(box.gateway->networks(), 16u);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  });
}

TEST(Gateway, ReportsAServerThatDoesNotListen) {
  in_box([] {
    Box box;
    Guest guest;
    box.open(guest, policy(net::NetBase::kAll));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 8000)));
    EXPECT_TRUE(box.has_decided(true, "base all; not reached: Connection refused"));
  });
}

TEST(Gateway, TheEndOfTheSandboxClosesItsNetworkAndLeavesTheFigures) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 8000);
    box.open(guest, policy(net::NetBase::kAll));
    UniqueFd client = say(box, guest.connect(kServer, 8000), "hello");
    const UniqueFd at_server = box.accepted(server);
    guest.end();
    Reader reader(at_server.get());
    EXPECT_TRUE(run_until(box.io, [&] { return reader.is_over(); }));
    const auto listed = box.gateway->answer(wire::ListNetworks{4}, {});
    EXPECT_TRUE(std::get<wire::NetworksListed>(listed).ids.empty());
    EXPECT_EQ(box.report().totals.connections, 1u);
    EXPECT_EQ(box.report().totals.open, 0u);
    const auto changed =
        box.gateway->answer(wire::ChangePolicy{5, box.id, policy(net::NetBase::kAll)}, {});
    EXPECT_EQ(std::get<wire::NetworkRefused>(changed).code, Errc::kNotFound);
    const auto last = box.gateway->answer(wire::ReadNetwork{6, box.id, true}, {});
    EXPECT_EQ(std::get<wire::NetworkReport>(last).totals.connections, 1u);
    const auto gone = box.gateway->answer(wire::ReadNetwork{7, box.id, true}, {});
    EXPECT_EQ(std::get<wire::NetworkRefused>(gone).code, Errc::kNotFound);
  });
}

TEST(Gateway, AnIdThatIsThereGetsNewSocketsAndKeepsItsRelays) {
  in_box([] {
    Box box;
    Guest guest;
    Listener server(kServer, 8000);
    box.open(guest, policy(net::NetBase::kAll));
    UniqueFd old = guest.connect(kServer, 8000);
    const UniqueFd at_server = box.accepted(server);
    ASSERT_TRUE(
        std::holds_alternative<wire::GatewayDone>(box.open(guest, policy(net::NetBase::kAll))));
    const UniqueFd another = say(box, guest.connect(kServer, 8000), "hello");
    EXPECT_TRUE(box.works(another, server));
    Reader reader(at_server.get());
    old = say(box, std::move(old), "as before");
    EXPECT_TRUE(run_until(box.io, [&] { return reader.has("as before"); }));
    EXPECT_EQ(box.report().totals.connections, 2u);
    guest.resolve(box.io, "a.example.com");  // and DNS is answered
    EXPECT_EQ(box.names.asked.size(), 1u);
  });
}

TEST(Gateway, TheCeilingIsAboveEveryServer) {
  in_box([] {
    GatewayOptions options;
    options.ceiling.policy = policy(net::NetBase::kHttpsOnly);
    Box box(std::move(options));
    Guest guest;
    const auto opened = box.open(guest, policy(net::NetBase::kAll));
    EXPECT_EQ(std::get<wire::NetworkRefused>(opened).code, Errc::kPolicy);
    EXPECT_EQ(box.gateway->networks(), 0u);
    EXPECT_TRUE(std::holds_alternative<wire::GatewayDone>(
        box.open(guest, policy(net::NetBase::kHttpsOnly))));
    const auto changed =
        box.gateway->answer(wire::ChangePolicy{3, box.id, policy(net::NetBase::kAll)}, {});
    EXPECT_EQ(std::get<wire::NetworkRefused>(changed).code, Errc::kPolicy);
  });
}

TEST(Gateway, RefusesDescriptorsThatAreSomethingElse) {
  in_box([] {
    Box box;
    Guest guest;
    wire::OpenNetwork request{1, box.id, "default", policy(net::NetBase::kAll)};
    auto swapped = guest.lend();
    std::swap(swapped[0], swapped[1]);
    EXPECT_TRUE(std::holds_alternative<wire::NetworkRefused>(
        box.gateway->answer(request, std::move(swapped))));
    auto few = guest.lend();
    few.pop_back();
    EXPECT_TRUE(
        std::holds_alternative<wire::NetworkRefused>(box.gateway->answer(request, std::move(few))));
    EXPECT_EQ(box.gateway->networks(), 0u);
  });
}

// One sandbox does nothing but ask for what it may not have.
TEST(Gateway, AFloodOfRefusalsDoesNotHoldUpAnother) {
  in_box([] {
    Box box;
    Guest hostile;
    Guest honest;
    Listener server(kServer, 8000);
    box.open(hostile, policy(net::NetBase::kNone, {"a.example.com"}));
    wire::OpenNetwork request{1, SandboxId::make(), "other", policy(net::NetBase::kAll)};
    box.gateway->answer(std::move(request), honest.lend());
    std::vector<UniqueFd> flood;
    for (int i = 0; i < 80; ++i) flood.push_back(hostile.connect(kServer, 8000));
    const UniqueFd client = honest.connect(kServer, 8000);
    // The honest one came last, and has its connection before the flood is dealt with.
    const UniqueFd at_server = box.accepted(server);
    EXPECT_TRUE(at_server);
    EXPECT_LT(box.report().totals.denied, 80u);
    EXPECT_TRUE(run_until(box.io, [&] { return box.report().totals.denied == 80; }));
    EXPECT_EQ(box.report().decisions.size(), 1u);
    EXPECT_EQ(box.report().decisions[0].count, 80u);
  });
}

}  // namespace
}  // namespace glovebox::gateway
