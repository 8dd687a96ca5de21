#include "bench/network_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/network_peer.h"
#include "bench/process.h"
#include "bench/tls_server.h"

namespace glovebox::bench {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const net::IpAddress kLoopback = net::IpAddress::v4({127, 0, 0, 1});

Groups figures_of_program(const std::vector<std::string>& argv, std::size_t groups) {
  const auto output = output_of({argv, {"PATH=/usr/bin:/bin"}});
  EXPECT_TRUE(output) << output.error().message();
  const auto parsed = parse_groups(output ? *output : "", groups);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : Groups(groups);
}

TEST(NetworkProgram, FiguresComeInGroups) {
  EXPECT_THAT(parse_groups("1 2.5;3", 2).value(), ElementsAre(ElementsAre(1, 2.5), ElementsAre(3)));
  EXPECT_THAT(parse_groups("", 1).value(), ElementsAre(ElementsAre()));
  EXPECT_THAT(parse_groups(";7", 2).value(), ElementsAre(ElementsAre(), ElementsAre(7)));
}

TEST(NetworkProgram, MalformedFiguresAreAnError) {
  EXPECT_THAT(parse_groups("1 2;3", 1).error().message(),
              HasSubstr("unexpected number of figures"));
  EXPECT_THAT(parse_groups("1", 2).error().message(), HasSubstr("unexpected number of figures"));
  EXPECT_THAT(parse_groups("Traceback", 1).error().message(), HasSubstr("Traceback"));
}

// The same program as in sandboxes, against the same servers, with nothing in between.
TEST(NetworkProgram, StreamsInBothDirections) {
  const auto peer = NetworkPeer::listen(kLoopback).value();
  const NetworkTarget to{kLoopback, peer->port()};
  EXPECT_THAT(figures_of_program(send_program(to, 3, 2), 1)[0], AllOf(SizeIs(2), Each(Gt(0))));
  EXPECT_THAT(figures_of_program(receive_program(to, 3, 2), 1)[0], AllOf(SizeIs(2), Each(Gt(0))));
}

TEST(NetworkProgram, OpensManyConnections) {
  const auto peer = NetworkPeer::listen(kLoopback).value();
  const Groups groups = figures_of_program(relays_program({kLoopback, peer->port()}, 20, 5, 40), 2);
  EXPECT_THAT(groups, ElementsAre(SizeIs(5), SizeIs(40)));
  EXPECT_THAT(figures_of_program(echo_program({kLoopback, peer->port()}, 50), 1)[0], Each(Gt(0)));
}

TEST(NetworkProgram, VerifiesTheNameOfTheCertificate) {
  const auto tls = TlsServer::listen(kLoopback, 0, "bench.example").value();
  const NetworkTarget to{kLoopback, tls->port()};
  const auto argv = [&](const char* name) {
    return https_program(to, name, tls->certificate(), 3, FirstOf::kConnect);
  };
  EXPECT_THAT(figures_of_program(argv("bench.example"), 1)[0], AllOf(SizeIs(3), Each(Gt(0))));
  EXPECT_FALSE(output_of({argv("other.example"), {}}));
}

TEST(NetworkProgram, AFloodReportsItsTimeAndCount) {
  const auto peer = NetworkPeer::listen(kLoopback).value();
  const Groups groups = figures_of_program(flood_program({kLoopback, peer->port()}, 50), 1);
  ASSERT_THAT(groups[0], SizeIs(3));
  EXPECT_GE(groups[0][1] - groups[0][0], 0.05);
  EXPECT_GE(groups[0][2], 256);
}

}  // namespace
}  // namespace glovebox::bench
