#include "packages/builds/tree_transfer.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace glovebox::packages {
namespace {

// One chunk occupies the server's only thread for a fraction of a millisecond.
constexpr std::size_t kTreeChunk = 128 * 1024;

using TransferPtr = std::shared_ptr<node::FileTransfer>;

// Closes transfers in which no bytes move.
class Watchdog {
 public:
  Watchdog(asio::io_context& io, std::chrono::milliseconds patience)
      : state_(std::make_shared<State>(io)), patience_(patience) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    state_->out.reset();
    state_->in.reset();
    state_->timer.cancel();
  }

  void watch(TransferPtr out, TransferPtr in) {
    state_->out = std::move(out);
    state_->in = std::move(in);
    feed();
  }
  void feed() {
    state_->timer.expires_after(patience_);
    state_->timer.async_wait([state = state_](const boost::system::error_code& error) {
      if (error || std::chrono::steady_clock::now() < state->timer.expiry()) return;
      state->is_late = true;
      if (state->out) state->out->close();
      if (state->in) state->in->close();
    });
  }
  Result<> verdict() const {
    if (state_->is_late)
      return fail(Errc::kTimeout, "the transfer between build sandboxes stalled");
    return {};
  }

 private:
  struct State {
    explicit State(asio::io_context& io) : timer(io) {}
    asio::steady_timer timer;
    TransferPtr out, in;
    bool is_late = false;
  };
  std::shared_ptr<State> state_;
  std::chrono::milliseconds patience_;
};

tl::unexpected<Error> too_large(std::uint64_t most) {
  return fail(Error(Errc::kResourceExhausted,
                    "the data exceeds " + std::to_string(most >> 20) + " MB", EFBIG));
}

Task<TransferPtr> open_end(const TransferEnd& end) {
  CO_TRY(std::unique_ptr<node::FileTransfer> transfer, co_await end.session->transfer(end.request));
  co_return TransferPtr(std::move(transfer));
}

// `in` and `hash` may be null. False: the receiver stopped; its done() has the error.
Task<bool> pump(node::FileTransfer& out, node::FileTransfer* in, StreamHash* hash,
                Watchdog& watchdog, std::uint64_t most, std::uint64_t& moved) {
  std::string buffer(kTreeChunk, '\0');
  while (true) {
    const std::size_t got = co_await out.read_some(buffer.data(), buffer.size());
    watchdog.feed();
    if (got == 0) co_return true;
    moved += got;
    if (moved > most) co_return too_large(most);
    const std::string_view bytes(buffer.data(), got);
    if (hash != nullptr) hash->add(bytes);
    if (in == nullptr) continue;
    const bool taken = co_await in->write(bytes);
    watchdog.feed();
    if (!taken) co_return false;
  }
}

}  // namespace

Task<TransferCounts> transfer_bytes(asio::io_context& io, TransferEnd from, TransferEnd to,
                                    TransferLimits bounds) {
  CO_TRY(const TransferPtr out, co_await open_end(from));
  CO_TRY(const TransferPtr in, co_await open_end(to));
  Watchdog watchdog(io, bounds.patience);
  watchdog.watch(out, in);
  TransferCounts moved;
  Result<bool> pumped = co_await pump(*out, in.get(), nullptr, watchdog, bounds.most, moved.bytes);
  CO_TRY_OK(watchdog.verdict());
  if (!pumped) co_return fail(std::move(pumped.error()));
  if (!*pumped) {
    CO_TRY_OK(co_await in->done());
    co_return fail(Errc::kUnavailable, "the build sandbox did not accept all data");
  }
  // Check the sender first: half an archive must not be committed.
  Result<wire::FileDone> sent = co_await out->done();
  CO_TRY_OK(watchdog.verdict());
  if (!sent) co_return fail(std::move(sent.error()));
  moved.out = std::move(*sent);
  watchdog.feed();
  in->commit();
  Result<wire::FileDone> taken = co_await in->done();
  CO_TRY_OK(watchdog.verdict());
  if (!taken) co_return fail(std::move(taken.error()));
  moved.in = std::move(*taken);
  co_return moved;
}

Task<HashedTransfer> hash_bytes(asio::io_context& io, TransferEnd from, TransferLimits bounds) {
  CO_TRY(const TransferPtr out, co_await open_end(from));
  Watchdog watchdog(io, bounds.patience);
  watchdog.watch(out, nullptr);
  StreamHash hash;
  HashedTransfer hashed;
  Result<bool> pumped =
      co_await pump(*out, nullptr, &hash, watchdog, bounds.most, hashed.moved.bytes);
  CO_TRY_OK(watchdog.verdict());
  if (!pumped) co_return fail(std::move(pumped.error()));
  Result<wire::FileDone> sent = co_await out->done();
  CO_TRY_OK(watchdog.verdict());
  if (!sent) co_return fail(std::move(sent.error()));
  hashed.moved.out = std::move(*sent);
  hashed.sha256 = hash.hex();
  co_return hashed;
}

}  // namespace glovebox::packages
