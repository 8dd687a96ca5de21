#include "node/layers/layers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "node/async/pending_reply.h"
#include "node/links/launcher_error.h"

namespace glovebox::node {
namespace {

// A large tree is written out, or removed, before the answer comes.
constexpr std::chrono::minutes kDiskWait{3};
// Lists take at most a fourth of the launcher's time, however many are asked for.
constexpr int kPausePerList = 3;
constexpr std::chrono::seconds kLongestPause{1};

using Answer = std::shared_ptr<PendingReply<void>>;

LauncherLink::Finished into(const Answer& answer) {
  return [answer](Result<> done) { answer->set(std::move(done)); };
}

}  // namespace

// Checked here: the launcher treats a malformed message as a broken server.
Result<> Layers::check(const std::string& id, const std::string& note) const {
  if (!is_layer_id(id)) return fail(Errc::kInvalidArgument, "invalid layer id");
  if (note.size() > kMaxLayerNote) {
    return fail(Errc::kInvalidArgument, "a layer's note is too long");
  }
  if (!launcher_.up()) return fail(launcher_error("the launcher is not running"));
  return {};
}

Task<> Layers::keep_layer(LayerRecord record) {
  const std::shared_ptr<void> held = hold_();
  CO_TRY_OK(check(record.id, record.note));
  const Answer answer = std::make_shared<PendingReply<void>>(io_);
  launcher_.keep_layer(std::move(record), into(answer));
  co_return co_await PendingReply<void>::wait(answer, Clock::now() + kDiskWait);
}

Task<> Layers::note_layer(std::string id, std::string note) {
  const std::shared_ptr<void> held = hold_();
  CO_TRY_OK(check(id, note));
  const Answer answer = std::make_shared<PendingReply<void>>(io_);
  launcher_.note_layer(id, std::move(note), into(answer));
  co_return co_await PendingReply<void>::wait(answer, Clock::now() + patience_);
}

Task<> Layers::drop_layer(std::string id) {
  const std::shared_ptr<void> held = hold_();
  CO_TRY_OK(check(id, {}));
  const Answer answer = std::make_shared<PendingReply<void>>(io_);
  launcher_.drop_layer(id, into(answer));
  co_return co_await PendingReply<void>::wait(answer, Clock::now() + kDiskWait);
}

Task<> Layers::begin_listing() {
  const Clock::time_point deadline = Clock::now() + patience_;
  while (is_listing_ || Clock::now() < list_from_) {
    if (Clock::now() >= deadline) {
      co_return fail(launcher_error("the launcher did not list its layers in time"));
    }
    co_await listing_ended_.wait(is_listing_ ? deadline : std::min(deadline, list_from_));
  }
  if (!launcher_.up()) co_return fail(launcher_error("the launcher is not running"));
  is_listing_ = true;
  co_return Result<>();
}

Task<std::vector<LayerRecord>> Layers::list_layers() {
  const std::shared_ptr<void> held = hold_();
  if (!launcher_.up()) co_return fail(launcher_error("the launcher is not running"));
  CO_TRY_OK(co_await begin_listing());
  struct Ending {
    Layers& layers;
    const Clock::time_point began = Clock::now();
    explicit Ending(Layers& one) : layers(one) {}
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
      const Clock::time_point now = Clock::now();
      layers.is_listing_ = false;
      layers.list_from_ =
          now + std::min<Clock::duration>(kPausePerList * (now - began), kLongestPause);
      layers.listing_ended_.notify_all();
    }
  };
  const Ending ending(*this);
  const Answer answer = std::make_shared<PendingReply<void>>(io_);
  const auto found = std::make_shared<std::vector<LayerRecord>>();
  launcher_.list_layers(
      [found](LayerRecord record) {
        if (found->size() < kMostListed) found->push_back(std::move(record));
      },
      into(answer));
  CO_TRY_OK(co_await PendingReply<void>::wait(answer, Clock::now() + patience_));
  co_return std::move(*found);
}

}  // namespace glovebox::node
