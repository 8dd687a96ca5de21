#include "gateway/dns/resolv_conf.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> texts(const std::vector<DnsServer>& servers) {
  std::vector<std::string> out;
  for (const DnsServer& server : servers) {
    EXPECT_EQ(server.port, 53);
    out.push_back(server.address.text());
  }
  return out;
}
using Texts = std::vector<std::string>;

TEST(ResolvConf, TakesTheNameserverLines) {
  EXPECT_EQ(texts(parse_resolv_conf("# made by hand\nsearch example.org\nnameserver 192.0.2.1\n"
                                    "\tnameserver\t2001:db8::53  # second\r\noptions ndots:5\n")),
            (Texts{"192.0.2.1", "2001:db8::53"}));
}

TEST(ResolvConf, LeavesOutWhatItCannotUse) {
  EXPECT_EQ(texts(parse_resolv_conf("nameserver\nnameserver fe80::1%eth0\nnameserver 127.1\n"
                                    "nameservers 192.0.2.9\n#nameserver 192.0.2.8\n"
                                    "nameserver example.org\nnameserver 192.0.2.7")),
            Texts{"192.0.2.7"});
  EXPECT_TRUE(parse_resolv_conf("").empty());
}

TEST(ResolvConf, TakesThreeAndNoneTwice) {
  EXPECT_EQ(texts(parse_resolv_conf("nameserver 192.0.2.1\nnameserver 192.0.2.1\n"
                                    "nameserver 192.0.2.2\nnameserver 192.0.2.3\n"
                                    "nameserver 192.0.2.4\n")),
            (Texts{"192.0.2.1", "192.0.2.2", "192.0.2.3"}));
}

class ResolvConfFile : public ::testing::Test {
 protected:
  ResolvConfFile() {
    char name[] = "/tmp/gbx-resolv-XXXXXX";
    directory = ::mkdtemp(name);
    path = directory + "/resolv.conf";
  }
  ~ResolvConfFile() override {
    ::unlink(path.c_str());
    ::rmdir(directory.c_str());
  }
  // As others replace it: a new file in its place.
  void write(const std::string& text) {
    ::unlink(path.c_str());
    std::ofstream(path) << text;
  }
  std::string directory;
  std::string path;
  const ResolvConf::Time start{100h};
};

TEST_F(ResolvConfFile, IsReadAgainWhenItHasChangedButNotAllTheTime) {
  write("nameserver 192.0.2.1\n");
  ResolvConf conf(path);
  EXPECT_EQ(texts(conf.servers(start)), Texts{"192.0.2.1"});
  write("nameserver 192.0.2.22\n");
  EXPECT_EQ(texts(conf.servers(start + 1s)), Texts{"192.0.2.1"});
  EXPECT_EQ(texts(conf.servers(start + 3s)), Texts{"192.0.2.22"});
  EXPECT_EQ(texts(conf.servers(start + 10s)), Texts{"192.0.2.22"});
}

TEST_F(ResolvConfFile, WithoutAnyTheHostItselfIsAsked) {
  ResolvConf conf(path);
  EXPECT_EQ(texts(conf.servers(start)), Texts{"127.0.0.1"});
  write("search example.org\n");
  EXPECT_EQ(texts(conf.servers(start + 5s)), Texts{"127.0.0.1"});
  write("nameserver 192.0.2.1\n");
  EXPECT_EQ(texts(conf.servers(start + 10s)), Texts{"192.0.2.1"});
  ::unlink(path.c_str());
  EXPECT_EQ(texts(conf.servers(start + 15s)), Texts{"127.0.0.1"});
}

TEST_F(ResolvConfFile, AForeignFileInItsPlaceDoesNotBlock) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  ResolvConf conf(path);
  EXPECT_EQ(texts(conf.servers(start)), Texts{"127.0.0.1"});
}

}  // namespace
}  // namespace glovebox::gateway
