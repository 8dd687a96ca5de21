// The Idempotency-Key of a request: recorded before it runs, so that a repeated request is answered
// but not run twice, even if the server died in between.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "base/task.h"
#include "http/message.h"
#include "routing/worker.h"
#include "store/key.h"
#include "store/store.h"

namespace glovebox::api {

class Idempotency {
 public:
  // All but `who` outlive this. The worker reads a large body.
  Idempotency(store::Store& store, routing::Worker& worker, const store::Principal& who,
              http::Request& request);

  bool named() const { return !key_.empty(); }

  // The answer to send instead of running. Nothing: run, and then call one of the other two.
  boost::asio::awaitable<std::optional<http::Response>> begin(std::string run_id, bool streamed);

  // The request ran to its end: repeated requests get this answer.
  boost::asio::awaitable<void> finish(const http::Response& response);
  // The request did not run to its end. If it certainly never ran, the key is removed and the next
  // request tries again; otherwise the key stays interrupted.
  boost::asio::awaitable<void> give_up(bool may_have_run);

 private:
  store::Store& store_;
  routing::Worker& worker_;
  http::Request& request_;
  std::string project_;
  std::string key_;
  bool begun_ = false;
};

}  // namespace glovebox::api
