// Networks of builds of packages: the administrator's index, wherever it is, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "gateway/gateway.h"
#include "gateway/testing/test_box.h"

namespace glovebox::gateway {
namespace {

using testing::Box;
using testing::client_hello;
using ::testing::Contains;
using testing::Guest;
using testing::in_box;
using testing::ip;
using ::testing::IsEmpty;
using testing::kOther;
using testing::kServer;
using testing::Listener;
using ::testing::Not;
using testing::policy;
using testing::say;

constexpr std::uint16_t kIndexPort = 8080;
constexpr std::uint16_t kServerPort = 7070;

// No range is opened, and ordinary sandboxes reach nothing at all.
GatewayOptions with_index(std::vector<std::string> rules) {
  GatewayOptions options;
  options.ceiling.policy = policy(net::NetBase::kNone);
  net::NetCeiling most;
  most.policy = policy(net::NetBase::kNone, std::move(rules));
  most.any_address = true;
  options.build_ceiling = most;
  options.server_port = kServerPort;
  options.hosts = "/nowhere/hosts";
  return options;
}

// As Box::open(), for a build.
wire::GatewayReply open_build(Box& box, const Guest& guest, net::NetPolicy with,
                              const std::string& tenant = "build") {
  wire::OpenNetwork request{1, box.id, tenant, std::move(with), true};
  return box.gateway->answer(std::move(request), guest.lend());
}
bool is_done(const wire::GatewayReply& reply) {
  return std::holds_alternative<wire::GatewayDone>(reply);
}
Errc refusal(const wire::GatewayReply& reply) {
  const auto* refused = std::get_if<wire::NetworkRefused>(&reply);
  return refused == nullptr ? Errc::kInternal : refused->code;
}

TEST(GatewayBuilds, TheIndexIsReachedByItsNameAtAReservedAddressOfThisHost) {
  in_box([] {
    Box box(with_index({"mirror.corp:8080"}), Box::Opened::kNothing);
    box.names.addresses["mirror.corp"] = kServer;
    Guest guest;
    Listener index(kServer, kIndexPort);
    ASSERT_TRUE(is_done(open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp:8080"}))));
    EXPECT_EQ(guest.resolve(box.io, "mirror.corp"), std::vector{ip(kServer)});
    const UniqueFd client = say(box, guest.connect(kServer, kIndexPort), "hello");
    EXPECT_TRUE(box.works(client, index));
    // Neither another port of it, nor another address or name.
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, 22)));
    EXPECT_TRUE(box.is_refused(guest.connect(kOther, kIndexPort)));
    EXPECT_THAT(guest.resolve(box.io, "pypi.org"), IsEmpty());
    EXPECT_THAT(box.names.asked, Not(Contains("pypi.org")));
  });
}

// The control of the test above: the same policy, of a sandbox that is none of a build's.
TEST(GatewayBuilds, AnOrdinarySandboxHasNoPartInIt) {
  in_box([] {
    GatewayOptions options = with_index({"mirror.corp:8080"});
    options.ceiling.policy = policy(net::NetBase::kAll);
    Box box(std::move(options), Box::Opened::kNothing);
    box.names.addresses["mirror.corp"] = kServer;
    Guest guest;
    Listener index(kServer, kIndexPort);
    ASSERT_TRUE(is_done(box.open(guest, policy(net::NetBase::kNone, {"mirror.corp:8080"}))));
    EXPECT_THAT(guest.resolve(box.io, "mirror.corp"), IsEmpty());
    EXPECT_TRUE(box.has_decided(false, "reserved: benchmarking"));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, kIndexPort)));
    EXPECT_FALSE(index.accept());
  });
}

TEST(GatewayBuilds, TheIndexMayBeAnAddressAndPort443NeedsTheName) {
  in_box([] {
    Box box(with_index({"198.18.0.7/32:8080", "mirror.corp:443"}), Box::Opened::kNothing);
    box.names.addresses["mirror.corp"] = kOther;
    Guest guest;
    Listener by_address(kServer, kIndexPort);
    Listener by_name(kOther, 443);
    ASSERT_TRUE(is_done(open_build(
        box, guest, policy(net::NetBase::kNone, {"198.18.0.7/32:8080", "mirror.corp:443"}))));
    const UniqueFd first = say(box, guest.connect(kServer, kIndexPort), "hello");
    EXPECT_TRUE(box.works(first, by_address));
    const std::string hello = client_hello("mirror.corp");
    const UniqueFd second = say(box, guest.connect(kOther, 443), hello);
    EXPECT_TRUE(box.works(second, by_name, hello));
    EXPECT_TRUE(box.is_refused(say(box, guest.connect(kOther, 443), client_hello("evil.corp"))));
  });
}

TEST(GatewayBuilds, TheServersOwnPortIsNeverReachedOnThisHost) {
  in_box([] {
    Box box(with_index({"198.18.0.7/32", "mirror.corp"}), Box::Opened::kNothing);
    box.names.addresses["mirror.corp"] = kServer;
    Guest guest;
    Listener server(kServer, kServerPort);
    Listener index(kServer, kIndexPort);
    ASSERT_TRUE(is_done(
        open_build(box, guest, policy(net::NetBase::kNone, {"198.18.0.7/32", "mirror.corp"}))));
    EXPECT_EQ(guest.resolve(box.io, "mirror.corp"), std::vector{ip(kServer)});
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, kServerPort)));
    EXPECT_TRUE(box.has_decided(false, "reserved: the server's port"));
    EXPECT_FALSE(server.accept());
    const UniqueFd client = say(box, guest.connect(kServer, kIndexPort), "hello");
    EXPECT_TRUE(box.works(client, index));  // the control
  });
}

TEST(GatewayBuilds, UnassignedAddressesAreNotReachedByAName) {
  in_box([] {
    Box box(with_index({"mirror.corp"}), Box::Opened::kNothing);
    box.names.addresses["mirror.corp"] = "127.0.0.1";
    Guest guest;
    Listener here("127.0.0.1", kIndexPort);
    ASSERT_TRUE(is_done(open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp"}))));
    EXPECT_THAT(guest.resolve(box.io, "mirror.corp"), IsEmpty());
    EXPECT_TRUE(box.has_decided(false, "reserved: loopback"));
    EXPECT_TRUE(box.is_refused(guest.connect("169.254.169.254", 80)));
    EXPECT_TRUE(box.has_decided(false, "reserved: metadata"));
    EXPECT_FALSE(here.accept());
  });
}

TEST(GatewayBuilds, AreHeldToTheirOwnCeiling) {
  in_box([] {
    GatewayOptions options = with_index({"mirror.corp:8080"});
    options.ceiling.policy = policy(net::NetBase::kAll);
    Box box(std::move(options), Box::Opened::kNothing);
    Guest guest;
    // More than the index, though an ordinary sandbox may have it.
    EXPECT_EQ(refusal(open_build(box, guest, policy(net::NetBase::kAll))), Errc::kPolicy);
    EXPECT_EQ(refusal(open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp"}))),
              Errc::kPolicy);
    EXPECT_EQ(box.gateway->networks(), 0u);
    ASSERT_TRUE(is_done(open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp:8080"}))));
    wire::ChangePolicy change{2, box.id, policy(net::NetBase::kAll)};
    EXPECT_EQ(refusal(box.gateway->answer(change, {})), Errc::kPolicy);
    change.policy = policy(net::NetBase::kNone);
    EXPECT_TRUE(is_done(box.gateway->answer(change, {})));
    // And it stays a build's.
    EXPECT_EQ(refusal(box.open(guest, policy(net::NetBase::kAll))), Errc::kConflict);
    wire::OpenNetwork other{3, box.id, "build", policy(net::NetBase::kAll)};
    EXPECT_EQ(refusal(box.gateway->answer(std::move(other), guest.lend())), Errc::kConflict);
  });
}

TEST(GatewayBuilds, AreRefusedWhereThereAreNone) {
  in_box([] {
    GatewayOptions options;
    options.build_ceiling = fail(Errc::kPolicy, "deps.enabled is off");
    Box box(std::move(options));
    Guest guest;
    const auto reply = open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp"}));
    ASSERT_EQ(refusal(reply), Errc::kPolicy);
    EXPECT_EQ(std::get<wire::NetworkRefused>(reply).message, "deps.enabled is off");
  });
  // Nor by default.
  in_box([] {
    Box box;
    Guest guest;
    EXPECT_EQ(refusal(open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp"}))),
              Errc::kPolicy);
  });
}

TEST(GatewayBuilds, TheCeilingsBudgetsCount) {
  in_box([] {
    GatewayOptions options = with_index({"198.18.0.7/32:8080"});
    options.build_ceiling->policy.budgets.connections = 1;
    Box box(std::move(options), Box::Opened::kNothing);
    Guest guest;
    Listener index(kServer, kIndexPort);
    ASSERT_TRUE(
        is_done(open_build(box, guest, policy(net::NetBase::kNone, {"198.18.0.7/32:8080"}))));
    const UniqueFd first = say(box, guest.connect(kServer, kIndexPort), "hello");
    EXPECT_TRUE(box.works(first, index));
    EXPECT_TRUE(box.is_refused(guest.connect(kServer, kIndexPort)));
    EXPECT_TRUE(box.has_decided(false, "budget: connections"));
  });
}

// A file of hosts that is gone with the test.
struct Hosts {
  explicit Hosts(const std::string& text) {
    char name[] = "/tmp/gbx-hosts-XXXXXX";
    directory = ::mkdtemp(name);
    path = directory + "/hosts";
    std::ofstream(path) << text;
  }
  ~Hosts() {
    ::unlink(path.c_str());
    ::rmdir(directory.c_str());
  }
  std::string directory;
  std::string path;
};

TEST(GatewayBuilds, NamesOfTheIndexAreFoundInTheHostsFileByBuildsAlone) {
  const Hosts hosts("198.18.0.7 mirror.corp secret.corp\n");
  in_box([&] {
    GatewayOptions options = with_index({"mirror.corp"});
    options.hosts = hosts.path;
    options.ceiling.policy = policy(net::NetBase::kAll);
    Box box(std::move(options));  // here an ordinary sandbox could be told the address
    Guest guest;
    ASSERT_TRUE(is_done(open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp"}))));
    EXPECT_EQ(guest.resolve(box.io, "mirror.corp"), std::vector{ip(kServer)});
    EXPECT_THAT(box.names.asked, IsEmpty());
    EXPECT_THAT(guest.resolve(box.io, "secret.corp"), IsEmpty());  // none of the index's
    // A client that says the name without having asked for it.
    Listener index(kServer, 443);
    const std::string hello = client_hello("mirror.corp");
    const UniqueFd client = say(box, guest.connect(kServer, 443), hello);
    EXPECT_TRUE(box.works(client, index, hello));

    Guest ordinary;
    wire::OpenNetwork request{1, SandboxId::make(), "build", policy(net::NetBase::kAll)};
    ASSERT_TRUE(is_done(box.gateway->answer(std::move(request), ordinary.lend())));
    EXPECT_THAT(ordinary.resolve(box.io, "mirror.corp"), IsEmpty());
    EXPECT_THAT(box.names.asked, Contains("mirror.corp"));
  });
}

// Also where a project is called as the builds' tenant is.
TEST(GatewayBuilds, ABuildsAnswersAreNotInAnotherSandboxsCache) {
  in_box([] {
    GatewayOptions options = with_index({"mirror.corp"});
    options.ceiling.policy = policy(net::NetBase::kAll);
    Box box(std::move(options));
    box.names.addresses["mirror.corp"] = kServer;
    Guest guest;
    ASSERT_TRUE(
        is_done(open_build(box, guest, policy(net::NetBase::kNone, {"mirror.corp"}), "default")));
    EXPECT_EQ(guest.resolve(box.io, "mirror.corp"), std::vector{ip(kServer)});
    EXPECT_EQ(guest.resolve(box.io, "mirror.corp"), std::vector{ip(kServer)});
    EXPECT_EQ(box.names.asked.size(), 1u);  // the control: there is a cache
    box.names.addresses["mirror.corp"] = kOther;

    Guest ordinary;
    wire::OpenNetwork request{1, SandboxId::make(), "default", policy(net::NetBase::kAll)};
    ASSERT_TRUE(is_done(box.gateway->answer(std::move(request), ordinary.lend())));
    EXPECT_EQ(ordinary.resolve(box.io, "mirror.corp"), std::vector{ip(kOther)});
    EXPECT_EQ(box.names.asked.size(), 2u);
  });
}

}  // namespace
}  // namespace glovebox::gateway
