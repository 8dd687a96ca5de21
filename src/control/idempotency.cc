#include "control/idempotency.h"

#include <algorithm>
#include <utility>

#include "control/digest.h"
#include "control/store_call.h"

namespace glovebox::control {
namespace {

using http::Response;

constexpr std::size_t kMaxKey = 255;

bool is_good_key(std::string_view key) {
  return key.size() <= kMaxKey &&
         std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

std::optional<Response> answer_for(store::IdempotentEntry entry) {
  switch (entry.state) {
    case store::IdempotentState::kFresh:
      return std::nullopt;
    case store::IdempotentState::kDone: {
      if (entry.answer_cut) {
        return Response::refuse(
            409, "answer_not_kept",
            "this ran already as " + entry.run_id + "; its answer was too long to be kept");
      }
      Response response = Response::json(std::move(entry.answer), entry.status);
      response.headers.set("Idempotent-Replayed", "true");
      return response;
    }
    case store::IdempotentState::kRunning: {
      Response response =
          Response::refuse(409, "still_running", "the first request with this key still runs");
      response.headers.set("Retry-After", "1");
      return response;
    }
    case store::IdempotentState::kInterrupted:
      return Response::refuse(409, "interrupted",
                              "the first request with this key was cut short while it ran as " +
                                  entry.run_id + "; use a new key to run it again");
    case store::IdempotentState::kMismatch:
      return Response::refuse(422, "idempotency_key_reused",
                              "this key was used with another request");
  }
  return Response::refuse(500, "internal", "an unknown state of an idempotent request");
}

}  // namespace

Idempotency::Idempotency(App& app, const store::Principal& who, const http::Request& request)
    : app_(app),
      request_(request),
      project_(who.project),
      key_(request.header("Idempotency-Key")) {}

boost::asio::awaitable<std::optional<Response>> Idempotency::begin(std::string run_id,
                                                                   bool streamed) {
  if (!named()) co_return std::nullopt;
  if (!is_good_key(key_)) {
    co_return Response::refuse(400, "invalid_argument",
                               "Idempotency-Key: 1 to 255 printable characters, no spaces");
  }
  if (streamed) {
    co_return Response::refuse(400, "invalid_argument",
                               "Idempotency-Key: goes not together with live events");
  }
  const std::string fingerprint = sha256_hex(request_.body);
  const Ask<store::IdempotentEntry> ask = [&](store::Callback<store::IdempotentEntry> done) {
    app_.store.begin_idempotent(project_, key_, fingerprint, run_id, std::move(done));
  };
  auto entry = co_await store_call(ask);
  // Not recorded: then nothing may run.
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
  const Ask<void> ask = [&](store::Callback<> done) {
    app_.store.finish_idempotent(project_, key_, response.status, response.body, std::move(done));
  };
  // It is in memory and retried if the disk says no; the answer goes out all the same.
  (void)co_await store_call(ask);
}

boost::asio::awaitable<void> Idempotency::give_up(bool may_have_run) {
  if (!std::exchange(begun_, false)) co_return;
  const Ask<void> ask = [&](store::Callback<> done) {
    if (may_have_run) {
      app_.store.interrupt_idempotent(project_, key_, std::move(done));
    } else {
      app_.store.forget_idempotent(project_, key_, std::move(done));
    }
  };
  (void)co_await store_call(ask);
}

}  // namespace glovebox::control
