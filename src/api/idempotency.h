// The Idempotency-Key of a request: recorded before it runs, so that the same request sent again
// is answered and not run twice, also when the server died in between.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "store/store.h"
#include "http/message.h"
#include "store/key.h"

namespace glovebox::api {

class Idempotency {
 public:
  // `request` outlives this.
  Idempotency(store::Store& store, const store::Principal& who, const http::Request& request);

  bool named() const { return !key_.empty(); }

  // The answer to give instead of running, or nothing: run, and then call one of the other two.
  boost::asio::awaitable<std::optional<http::Response>> begin(std::string run_id, bool streamed);

  // It ran to its end: this is the answer from now on.
  boost::asio::awaitable<void> finish(const http::Response& response);
  // It did not. What certainly never ran is forgotten, and the next request tries anew; the rest is
  // interrupted for good.
  boost::asio::awaitable<void> give_up(bool may_have_run);

 private:
  store::Store& store_;
  const http::Request& request_;
  std::string project_;
  std::string key_;
  bool begun_ = false;
};

}  // namespace glovebox::api
