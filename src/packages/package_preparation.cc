#include "packages/package_preparation.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "base/log.h"

namespace glovebox::packages {
namespace {

constexpr std::size_t kMaxQueued = 512;
constexpr std::chrono::seconds kIdleInterval{15};

// Progress on its way from the build to the client. Shared: the build may outlive its listener.
struct ProgressQueue {
  explicit ProgressQueue(asio::io_context& io) : changed(io) {}

  void add(const BuildProgress& progress) {
    if (is_closed) return;
    if (queued.size() >= kMaxQueued) {
      // Lines of the installer give way to the beginnings of phases.
      if (!progress.text.empty()) return;
      std::erase_if(queued, [](const BuildProgress& one) { return !one.text.empty(); });
      if (queued.size() >= kMaxQueued) return;
    }
    queued.push_back(progress);
    changed.cancel();
  }

  std::deque<BuildProgress> queued;
  asio::steady_timer changed;
  std::optional<Result<PreparedPackages>> prepared;
  bool is_closed = false;  // the listener is gone
};

// The listener may be cut off while it waits for the client.
struct CloseQueue {
  explicit CloseQueue(std::shared_ptr<ProgressQueue> the_queue) : queue(std::move(the_queue)) {}
  CloseQueue(const CloseQueue&) = delete;
  CloseQueue& operator=(const CloseQueue&) = delete;
  ~CloseQueue() { queue->is_closed = true; }
  std::shared_ptr<ProgressQueue> queue;
};

}  // namespace

// If the layer that a template or snapshot was made with is gone, the layer that its packages were
// resolved to now replaces it.
asio::awaitable<void> PackagePreparation::record_layer(Origin origin, std::string layer) {
  if (layer == origin.kept_layer) co_return;
  Result<> recorded;
  if (templates_.find_id(origin.template_id) != nullptr) {
    recorded = co_await templates_.set_layer(origin.template_id, layer);
  }
  if (recorded && !origin.snapshot.empty()) {
    recorded = co_await snapshots_.set_layer(origin.snapshot, layer);
  }
  // If this fails, the next server resolves it again.
  if (!recorded && recorded.error().code() != Errc::kNotFound) {
    log::warn("cannot record the layer of a template", {{"error", recorded.error().message()}});
  }
}

Task<PreparedPackages> PackagePreparation::prepare(PackageSetRequest request,
                                                   std::shared_ptr<node::CancelFlag> cancel) {
  OnBuildProgress silent;
  Origin origin(request);
  auto prepared = co_await packages_.prepare(std::move(request), std::move(silent), cancel);
  if (prepared) co_await record_layer(std::move(origin), prepared->layer_id);
  co_return prepared;
}

Task<PreparedPackages> PackagePreparation::prepare(PackageSetRequest request,
                                                   std::shared_ptr<node::CancelFlag> cancel,
                                                   ProgressSink& sink) {
  auto queue = std::make_shared<ProgressQueue>(io_);
  const CloseQueue close(queue);
  Origin origin(request);
  OnBuildProgress report = [queue](const BuildProgress& progress) { queue->add(progress); };
  asio::co_spawn(io_, packages_.prepare(std::move(request), std::move(report), cancel),
                 [queue](std::exception_ptr thrown, Result<PreparedPackages> prepared) {
                   queue->prepared =
                       thrown ? Result<PreparedPackages>(fail(Errc::kInternal, "a build failed"))
                              : std::move(prepared);
                   queue->changed.cancel();
                 });
  bool is_connected = true;
  while (!queue->prepared || !queue->queued.empty()) {
    while (!queue->queued.empty()) {
      const BuildProgress progress = std::move(queue->queued.front());
      queue->queued.pop_front();
      if (!is_connected) continue;
      is_connected = co_await sink.on_progress(progress);
      if (!is_connected) cancel->cancel();
    }
    if (queue->prepared) break;
    queue->changed.expires_after(kIdleInterval);
    const auto [error] = co_await queue->changed.async_wait(kAwaitTuple);
    if (error || !is_connected) continue;  // there is progress, or the client is gone
    is_connected = co_await sink.on_idle();
    if (!is_connected) cancel->cancel();
  }
  if (*queue->prepared) {
    co_await record_layer(std::move(origin), (*queue->prepared)->layer_id);
  }
  co_return std::move(*queue->prepared);
}

}  // namespace glovebox::packages
