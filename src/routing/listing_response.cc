#include "routing/listing_response.h"

#include <optional>
#include <utility>

namespace glovebox::routing {
namespace {

constexpr std::size_t kMaxHeldListing = 512 * 1024;

}  // namespace

Task<bool> ListingResponse::read_all() {
  while (true) {
    CO_TRY(const std::optional<wire::FileEntry> entry, co_await listing_.next());
    if (!entry) co_return true;
    if (++count_ > most_) continue;  // the helper was given the limit
    if (count_ > 1) text_ += ',';
    text_ += entry_json_(*entry);
    if (text_.size() < kMaxHeldListing) continue;
    const bool is_there = co_await flush();
    if (!is_there) co_return false;
  }
}

Task<http::Response> ListingResponse::finish(std::string tail) {
  text_ += "]" + tail;
  if (!writer_.begun()) co_return http::Response::json(std::move(text_));
  const bool is_there = co_await flush();
  if (is_there) co_await writer_.finish();
  co_return http::Response::streamed();
}

asio::awaitable<bool> ListingResponse::flush() {
  if (!writer_.begun()) {
    http::Headers headers{{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
    const bool is_there = co_await writer_.begin(200, std::move(headers));
    if (!is_there) co_return false;
  }
  const bool is_there = co_await writer_.write_view(text_);
  text_.clear();
  co_return is_there;
}

}  // namespace glovebox::routing
