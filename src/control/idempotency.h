// The Idempotency-Key of a request: recorded before it runs, so that the same request sent again
// is answered and not run twice, also when the server died in between.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "control/app.h"
#include "http/message.h"
#include "store/key.h"

namespace glovebox::control {

class Idempotency {
 public:
  // `request` outlives this.
  Idempotency(App& app, const store::Principal& who, const http::Request& request);

  bool named() const { return !key_.empty(); }

  // The answer to give instead of running, or nothing: run, and then call end().
  boost::asio::awaitable<std::optional<http::Response>> begin(std::string run_id, bool streamed);

  // Remembers what was answered; a refusal is forgotten, and the next request tries anew.
  boost::asio::awaitable<void> end(const http::Response& response);

 private:
  App& app_;
  const http::Request& request_;
  std::string project_;
  std::string key_;
  bool begun_ = false;
};

}  // namespace glovebox::control
