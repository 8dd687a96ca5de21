#include "api/idempotency.h"

#include <algorithm>
#include <utility>

#include "routing/large_requests.h"
#include "store/over_quota.h"
#include "store/sha256.h"
#include "store/store_call.h"

namespace glovebox::api {
namespace {

using http::Response;

constexpr std::size_t kMaxKey = 255;

bool is_good_key(std::string_view key) {
  return key.size() <= kMaxKey &&
         std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

std::string body_digest(std::string_view body) { return store::sha256_hex(body); }

std::optional<Response> answer_for(store::IdempotentEntry entry) {
  switch (entry.state) {
    case store::IdempotentState::kFresh:
      return std::nullopt;
    case store::IdempotentState::kDone: {
      if (entry.answer_cut) {
        return Response::refuse(409, "answer_not_kept",
                                "this request already ran as " + entry.run_id +
                                    "; there was no room to keep its answer");
      }
      Response response = Response::json(std::move(entry.answer), entry.status);
      response.headers.set("Idempotent-Replayed", "true");
      return response;
    }
    case store::IdempotentState::kRunning: {
      Response response = Response::refuse(409, "still_running",
                                           "the first request with this key is still running");
      response.headers.set("Retry-After", "1");
      return response;
    }
    case store::IdempotentState::kInterrupted:
      return Response::refuse(409, "interrupted",
                              "the first request with this key was interrupted while it ran as " +
                                  entry.run_id + "; use a new key to run it again");
    case store::IdempotentState::kMismatch:
      return Response::refuse(422, "idempotency_key_reused",
                              "this key was used with a different request (another body or another "
                              "path); use a new key");
  }
  return Response::refuse(500, "internal", "unknown state of an idempotent request");
}

}  // namespace

Idempotency::Idempotency(store::Store& store, routing::Worker& worker, const store::Principal& who,
                         http::Request& request)
    : store_(store),
      worker_(worker),
      request_(request),
      project_(who.project),
      key_(request.header("Idempotency-Key")) {}

boost::asio::awaitable<std::optional<Response>> Idempotency::begin(std::string run_id,
                                                                   bool streamed) {
  if (!named()) co_return std::nullopt;
  if (!is_good_key(key_)) {
    co_return Response::refuse(400, "invalid_argument",
                               "Idempotency-Key: must be 1 to 255 printable characters, no spaces");
  }
  if (streamed) {
    co_return Response::refuse(400, "invalid_argument",
                               "Idempotency-Key: cannot be combined with live events");
  }
  std::string digest = co_await routing::parse_body(worker_, request_, body_digest);
  const store::IdempotentRequest wanted{
      .project = project_,
      .key = key_,
      .route = std::string(http::method_name(request_.method)) + " " + request_.path,
      .body_sha256 = std::move(digest),
      .run_id = std::move(run_id)};
  const store::Ask<store::IdempotentEntry> ask = [&](store::Callback<store::IdempotentEntry> done) {
    store_.begin_idempotent(wanted, std::move(done));
  };
  auto entry = co_await store::store_call(ask);
  // The request must not run unless its key has been recorded.
  if (!entry && store::is_over_quota(entry.error())) {
    co_return Response::refuse(507, "disk_full", entry.error().message());
  }
  if (!entry) {
    Response response = Response::refuse(503, "store_unavailable", entry.error().message());
    response.headers.set("Retry-After", "2");
    co_return response;
  }
  begun_ = entry->state == store::IdempotentState::kFresh;
  co_return answer_for(std::move(*entry));
}

boost::asio::awaitable<void> Idempotency::finish(const Response& response) {
  if (!std::exchange(begun_, false)) co_return;
  const store::Ask<void> ask = [&](store::Callback<> done) {
    store_.finish_idempotent(project_, key_, response.status, response.body, std::move(done));
  };
  // If the write fails, the store keeps it in memory and retries; the answer is sent anyway.
  (void)co_await store::store_call(ask);
}

boost::asio::awaitable<void> Idempotency::give_up(bool may_have_run) {
  if (!std::exchange(begun_, false)) co_return;
  const store::Ask<void> ask = [&](store::Callback<> done) {
    if (may_have_run) {
      store_.interrupt_idempotent(project_, key_, std::move(done));
    } else {
      store_.forget_idempotent(project_, key_, std::move(done));
    }
  };
  (void)co_await store::store_call(ask);
}

}  // namespace glovebox::api
