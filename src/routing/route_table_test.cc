#include "routing/route_table.h"

#include <gtest/gtest.h>

#include "api/testing/test_server.h"

namespace glovebox::routing {
namespace {

struct Handlers {
  Task<http::Response> answer(http::Request&, http::ResponseWriter&) {
    co_return http::Response::text("here");
  }
};

TEST(RouteRow, IsAnOrdinaryRouteUnlessItSaysOtherwise) {
  // A body is read, and bounded, before the handler; a server that is full refuses the request.
  const RouteRow<Handlers> row{http::Method::kGet, "/x", Access::kKey, &Handlers::answer, "X"};
  EXPECT_FALSE(row.streams_body);
  EXPECT_FALSE(row.is_always_served);
  EXPECT_TRUE(row.upgrade == nullptr);
  EXPECT_EQ(row.max_body.bytes(1), 64u * 1024);
}

TEST(BodyLimits, AreTheRowsOrTheAdministrators) {
  EXPECT_EQ(BodyLimit(5).bytes(7), 5u);
  EXPECT_EQ(BodyLimit::configured().bytes(7), 7u);
}

}  // namespace
}  // namespace glovebox::routing
