#include "images/image_unpacking.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "node/sessions/transfer_watch.h"
#include "packages/builds/tree_transfer.h"
#include "wire/guest/image_layer.h"

namespace glovebox::images {
namespace {

constexpr std::size_t kChunk = 256 * 1024;
// Of the sandbox that unpacks: the tree is on the host's disk, a zstd window may take 128 MB.
constexpr std::uint64_t kMemory = 768ull << 20;
constexpr std::uint64_t kDisk = 16ull << 20;
constexpr std::uint64_t kMostEntries = 1'000'000;  // of all layers
// What a file takes on the disk besides its blocks: its inode and its name.
constexpr std::uint64_t kBytesOfAnEntry = 512;

tl::unexpected<Error> cancelled() { return fail(Errc::kUnavailable, "the request was cancelled"); }

// The sandbox that unpacks. Destroyed with this object at the latest.
class UnpackingSandbox {
 public:
  UnpackingSandbox(asio::io_context& io, node::SessionService& service,
                   std::shared_ptr<node::Session> session)
      : io_(io), service_(service), session_(std::move(session)) {}
  UnpackingSandbox(const UnpackingSandbox&) = delete;
  UnpackingSandbox& operator=(const UnpackingSandbox&) = delete;
  ~UnpackingSandbox() {
    if (!is_ended_) asio::co_spawn(io_, destroy(service_, session_->id()), asio::detached);
  }
  const std::shared_ptr<node::Session>& session() const { return session_; }
  Task<> end() {
    is_ended_ = true;
    Result<> destroyed = co_await service_.destroy_session(session_->id());
    const bool is_gone = destroyed || destroyed.error().code() == Errc::kNotFound;
    co_return is_gone ? Result<>() : std::move(destroyed);
  }

 private:
  static asio::awaitable<void> destroy(node::SessionService& service, SandboxId id) {
    (void)co_await service.destroy_session(std::move(id));
  }
  asio::io_context& io_;
  node::SessionService& service_;
  std::shared_ptr<node::Session> session_;
  bool is_ended_ = false;
};

// The agent's refusals say what is wrong with the image, not with the caller's rights.
Error of_image(Error error) {
  const int why = error.sys_errno();
  if (why == ENOSPC || why == EDQUOT) {
    return Error(Errc::kResourceExhausted, "the host's disk is full", why);
  }
  if (why == EFBIG) {
    return Error(Errc::kResourceExhausted, "the image is too large: " + error.message(), why);
  }
  if (error.code() == Errc::kUnavailable || error.code() == Errc::kTimeout) return error;
  return Error(Errc::kInvalidArgument, error.message(), why);
}

std::string layer_text(std::size_t index, std::size_t count) {
  return "layer " + std::to_string(index + 1) + " of " + std::to_string(count);
}

}  // namespace

Task<UnpackedImage> ImageUnpacking::unpack(Wanted wanted, ArchivedImage image,
                                           std::shared_ptr<const ArchiveFile> file, MakeNote note,
                                           ImageProgress& progress,
                                           std::shared_ptr<node::CancelFlag> cancel) {
  node::SessionSpec spec;
  spec.template_name = "base";
  spec.owner = wanted.project;
  spec.project = wanted.project;
  spec.limits.memory_bytes = kMemory;
  spec.limits.disk_bytes = kDisk;
  spec.layer = wanted.id;
  spec.make_layer = true;
  spec.is_build = true;
  CO_TRY(std::shared_ptr<node::Session> session,
         co_await services_.sessions.create_session(std::move(spec), cancel));
  UnpackingSandbox sandbox(services_.io, services_.sessions, std::move(session));
  const std::string id = wanted.id;
  Result<UnpackedImage> unpacked =
      co_await fill(wanted, image, std::move(file), sandbox.session(), progress, std::move(cancel));
  Result<> ended = co_await sandbox.end();
  if (unpacked && !ended) unpacked = fail(std::move(ended.error()));
  if (unpacked) {
    LayerRecord& record = unpacked->layer;
    record.id = id;
    record.made_ms = record.used_ms = wall_clock_ms();
    Result<std::string> text = note(*unpacked);
    Result<> kept;
    if (text) {
      record.note = std::move(*text);
      kept = co_await services_.layers.keep_layer(record);
      if (kept) co_return unpacked;
      if (kept.error().code() == Errc::kConflict) co_return fail(std::move(kept.error()));
    }
    unpacked = fail(!text ? std::move(text.error()) : std::move(kept.error()));
  }
  const Result<> dropped = co_await services_.layers.drop_layer(id);
  if (!dropped && dropped.error().code() != Errc::kNotFound) {
    log::warn("an unfinished image cannot be removed",
              {{"layer", id}, {"error", dropped.error().message()}});
  }
  co_return fail(std::move(unpacked.error()));
}

Task<UnpackedImage> ImageUnpacking::fill(const Wanted& wanted, const ArchivedImage& image,
                                         std::shared_ptr<const ArchiveFile> file,
                                         std::shared_ptr<node::Session> session,
                                         ImageProgress& progress,
                                         std::shared_ptr<node::CancelFlag> cancel) {
  UnpackedImage unpacked;
  std::uint64_t left = wanted.most_bytes;
  const auto deadline = std::chrono::steady_clock::now() + wanted.longest;
  for (std::size_t i = 0; i < image.layers.size(); ++i) {
    std::string text = layer_text(i, image.layers.size());
    const bool is_watched = co_await progress.on_progress("unpacking", std::move(text));
    if (!is_watched) co_return cancelled();
    Result<wire::FileDone> done =
        co_await send_layer(wanted, image.layers[i], left, deadline, file, session, cancel);
    if (!done) {
      co_return fail(of_image(std::move(done.error())).context(layer_text(i, image.layers.size())));
    }
    CO_TRY(const wire::LayerReport report, wire::parse_layer_report(done->entry));
    if (!image.layers[i].diff_id.empty() && report.diff_id != image.layers[i].diff_id) {
      co_return fail(Errc::kInvalidArgument, layer_text(i, image.layers.size()) +
                                                 " is not what its digest says: expected sha256:" +
                                                 image.layers[i].diff_id +
                                                 ", found sha256:" + report.diff_id);
    }
    // An upper layer may replace what is counted here; the sum is what was written at most.
    unpacked.layer.bytes += done->bytes;
    unpacked.layer.entries += done->entries;
    unpacked.devices += report.devices;
    unpacked.capabilities += report.capabilities;
    if (done->bytes > left) {
      co_return fail(Error(Errc::kResourceExhausted,
                           "the image is too large: it has more than " +
                               std::to_string(wanted.most_bytes >> 20) + " MB",
                           EFBIG));
    }
    left -= done->bytes;
    if (unpacked.layer.entries > kMostEntries) {
      co_return fail(Errc::kResourceExhausted,
                     "the image has more than " + std::to_string(kMostEntries) + " files");
    }
  }
  unpacked.layer.bytes += unpacked.layer.entries * kBytesOfAnEntry;
  const bool is_watched = co_await progress.on_progress("sealing", "");
  if (!is_watched) co_return cancelled();
  packages::TransferEnd tree{.session = session, .request = {}};
  tree.request.op = wire::FileOp::kTarOut;
  tree.request.user = "root";
  tree.request.path = kLayerMountPoint;
  const packages::TransferLimits limits{.most = UINT64_MAX, .patience = wanted.patience};
  CO_TRY(packages::HashedTransfer hashed,
         co_await packages::hash_bytes(services_.io, std::move(tree), limits));
  unpacked.layer.digest = std::move(hashed.sha256);
  co_return unpacked;
}

Task<wire::FileDone> ImageUnpacking::send_layer(const Wanted& wanted, ArchivedLayer layer,
                                                std::uint64_t left,
                                                std::chrono::steady_clock::time_point deadline,
                                                std::shared_ptr<const ArchiveFile> file,
                                                std::shared_ptr<node::Session> session,
                                                std::shared_ptr<node::CancelFlag> cancel) {
  wire::FileRequest request;
  request.op = wire::FileOp::kImageIn;
  request.user = "root";
  request.path = kLayerMountPoint;
  // The archive's headers and padding count as well.
  request.most = left + (left / 4) + (64ull << 20);
  CO_TRY(const std::unique_ptr<node::FileTransfer> transfer,
         co_await session->transfer(std::move(request)));
  node::TransferWatch watch(services_.io, wanted.patience, "unpacking the image made no progress",
                            cancel);
  watch.end_at(deadline, "unpacking the image took longer than " +
                             std::to_string(wanted.longest.count()) + " minutes");
  watch.watch(*transfer);
  auto buffer = std::make_shared<std::string>(kChunk, '\0');
  std::uint64_t at = layer.offset;
  const std::uint64_t end = layer.offset + layer.size;
  bool is_taken = true;
  while (at < end && is_taken) {
    const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, end - at));
    auto work = [file, buffer, at, want]() -> Task<std::size_t> {
      co_return file->read(at, buffer->data(), want);
    };
    CO_TRY(const std::size_t got,
           co_await asio::co_spawn(services_.disk, work, asio::use_awaitable));
    if (got == 0) co_return fail(Errc::kInternal, "the archive ends early");
    at += got;
    is_taken = co_await transfer->write(std::string_view(*buffer).substr(0, got));
    watch.feed();
    CO_TRY_OK(watch.verdict());
  }
  // One that takes no more has an error to tell.
  if (is_taken) transfer->commit();
  watch.feed();
  Result<wire::FileDone> done = co_await transfer->done();
  CO_TRY_OK(watch.verdict());
  if (done && !is_taken) {
    co_return fail(Errc::kUnavailable, "the sandbox did not accept all of the layer");
  }
  co_return done;
}

}  // namespace glovebox::images
