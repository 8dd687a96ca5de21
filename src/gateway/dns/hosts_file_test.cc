#include "gateway/dns/hosts_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "gateway/testing/scripted_dns.h"

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;
using State = NameAnswer::State;
using Addresses = std::vector<net::IpAddress>;

class HostsFileTest : public ::testing::Test {
 protected:
  HostsFileTest() {
    char name[] = "/tmp/gbx-hosts-XXXXXX";
    directory = ::mkdtemp(name);
    path = directory + "/hosts";
  }
  ~HostsFileTest() override {
    ::unlink(path.c_str());
    ::rmdir(directory.c_str());
  }
  void write(const std::string& text) {
    ::unlink(path.c_str());
    std::ofstream(path) << text;
  }
  std::string directory;
  std::string path;
  const ReloadingFile::Time start{100h};
};

TEST(Hosts, EveryNameOfALineIsAtItsAddress) {
  const HostsTable table = parse_hosts(
      "# of this host\n"
      "127.0.0.1\tlocalhost vm\r\n"
      "10.0.0.7  PyPI.corp. pypi   # the mirror\n"
      "2001:db8::7 pypi.corp\n"
      "10.0.0.7 pypi.corp\n"
      "10.0.0.8 pypi.corp");
  EXPECT_EQ(table.at("pypi.corp"), (Addresses{ip("10.0.0.7"), ip("2001:db8::7"), ip("10.0.0.8")}));
  EXPECT_EQ(table.at("pypi"), Addresses{ip("10.0.0.7")});
  EXPECT_EQ(table.at("vm"), Addresses{ip("127.0.0.1")});
  EXPECT_EQ(table.size(), 4u);
}

TEST(Hosts, LinesWithoutSenseArePassedOver) {
  EXPECT_TRUE(parse_hosts("").empty());
  EXPECT_TRUE(parse_hosts("10.0.0.7\nname 10.0.0.7\n10.1 a.example\nfe80::1%eth0 b.example\n"
                          "10.0.0.7 #c.example\n10.0.0.7 d..example 127.1\n")
                  .empty());
  std::string many;
  for (int i = 0; i < 100; ++i) many += "10.0.0." + std::to_string(i) + " a.example\n";
  EXPECT_EQ(parse_hosts(many).at("a.example").size(), HostsFile::kMaxAddresses);
}

TEST_F(HostsFileTest, ANameThatIsThereIsAnsweredByItsType) {
  write("10.0.0.7 mirror.corp\n");
  HostsFile hosts(path);
  const auto found = hosts.find(host("mirror.corp"), net::DnsType::kA, start);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, State::kFound);
  EXPECT_EQ(found->addresses, Addresses{ip("10.0.0.7")});
  const auto other = hosts.find(host("mirror.corp"), net::DnsType::kAaaa, start);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->state, State::kNoAddress);
  EXPECT_FALSE(hosts.find(host("other.corp"), net::DnsType::kA, start));
}

TEST_F(HostsFileTest, IsReadAgainWhenItHasChangedAndMayBeMissing) {
  HostsFile hosts(path);
  EXPECT_FALSE(hosts.find(host("mirror.corp"), net::DnsType::kA, start));
  write("10.0.0.7 mirror.corp\n");
  EXPECT_FALSE(hosts.find(host("mirror.corp"), net::DnsType::kA, start + 1s));
  EXPECT_TRUE(hosts.find(host("mirror.corp"), net::DnsType::kA, start + 4s));
  ::unlink(path.c_str());
  EXPECT_TRUE(hosts.find(host("mirror.corp"), net::DnsType::kA, start + 5s));
  EXPECT_FALSE(hosts.find(host("mirror.corp"), net::DnsType::kA, start + 8s));
}

}  // namespace
}  // namespace glovebox::gateway
