#include "packages/builds/tree_transfer.h"

#include <utility>

#include "node/sessions/transfer_watch.h"

namespace glovebox::packages {
namespace {

// One chunk occupies the server's only thread for a fraction of a millisecond.
constexpr std::size_t kTreeChunk = 128 * 1024;

constexpr const char* kStalled = "the transfer between build sandboxes stalled";

tl::unexpected<Error> too_large(std::uint64_t most) {
  return fail(Error(Errc::kResourceExhausted,
                    "the data exceeds " + std::to_string(most >> 20) + " MB", EFBIG));
}

// `in` and `hash` may be null. False: the receiver stopped; its done() has the error.
Task<bool> pump(node::FileTransfer& out, node::FileTransfer* in, StreamHash* hash,
                node::TransferWatch& watch, std::uint64_t most, std::uint64_t& moved) {
  std::string buffer(kTreeChunk, '\0');
  while (true) {
    const std::size_t got = co_await out.read_some(buffer.data(), buffer.size());
    watch.feed();
    if (got == 0) co_return true;
    moved += got;
    if (moved > most) co_return too_large(most);
    const std::string_view bytes(buffer.data(), got);
    if (hash != nullptr) hash->add(bytes);
    if (in == nullptr) continue;
    const bool taken = co_await in->write(bytes);
    watch.feed();
    if (!taken) co_return false;
  }
}

}  // namespace

Task<TransferCounts> transfer_bytes(asio::io_context& io, TransferEnd from, TransferEnd to,
                                    TransferLimits bounds) {
  CO_TRY(const std::unique_ptr<node::FileTransfer> out,
         co_await from.session->transfer(from.request));
  CO_TRY(const std::unique_ptr<node::FileTransfer> in, co_await to.session->transfer(to.request));
  node::TransferWatch watch(io, bounds.patience, kStalled);
  watch.watch(*out);
  watch.watch(*in);
  TransferCounts moved;
  Result<bool> pumped = co_await pump(*out, in.get(), nullptr, watch, bounds.most, moved.bytes);
  CO_TRY_OK(watch.verdict());
  if (!pumped) co_return fail(std::move(pumped.error()));
  if (!*pumped) {
    CO_TRY_OK(co_await in->done());
    co_return fail(Errc::kUnavailable, "the build sandbox did not accept all data");
  }
  // Check the sender first: half an archive must not be committed.
  Result<wire::FileDone> sent = co_await out->done();
  CO_TRY_OK(watch.verdict());
  if (!sent) co_return fail(std::move(sent.error()));
  moved.out = std::move(*sent);
  watch.feed();
  in->commit();
  Result<wire::FileDone> taken = co_await in->done();
  CO_TRY_OK(watch.verdict());
  if (!taken) co_return fail(std::move(taken.error()));
  moved.in = std::move(*taken);
  co_return moved;
}

Task<HashedTransfer> hash_bytes(asio::io_context& io, TransferEnd from, TransferLimits bounds) {
  CO_TRY(const std::unique_ptr<node::FileTransfer> out,
         co_await from.session->transfer(from.request));
  node::TransferWatch watch(io, bounds.patience, kStalled);
  watch.watch(*out);
  StreamHash hash;
  HashedTransfer hashed;
  Result<bool> pumped = co_await pump(*out, nullptr, &hash, watch, bounds.most, hashed.moved.bytes);
  CO_TRY_OK(watch.verdict());
  if (!pumped) co_return fail(std::move(pumped.error()));
  Result<wire::FileDone> sent = co_await out->done();
  CO_TRY_OK(watch.verdict());
  if (!sent) co_return fail(std::move(sent.error()));
  hashed.moved.out = std::move(*sent);
  hashed.sha256 = hash.hex();
  co_return hashed;
}

}  // namespace glovebox::packages
