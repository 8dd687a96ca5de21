#include "sessions/session_snapshots.h"

#include "base/wall_clock.h"
#include "model/image.h"

namespace glovebox::sessions {

Task<store::SnapshotRecord> SessionSnapshots::take(std::string project, std::string id,
                                                   std::string name,
                                                   std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY(const EntryPtr entry, co_await registry_.living(project, id));
  CO_TRY_OK(co_await entry->lock.lock(cancel));
  const EntryUnlock unlock(entry);
  CO_TRY(std::shared_ptr<node::Session> session, registry_.use(project, id));
  const store::SessionRecord& record = entry->record;
  const std::string image_name = variable_in(record.env, kImageVariable);
  const bool is_image = !image_name.empty();
  store::SnapshotRecord wanted{.project = record.project,
                               .name = std::move(name),
                               .sandbox = record.id.str(),
                               .template_name = record.template_name,
                               .template_id = record.template_id,
                               .created_ms = wall_clock_ms(),
                               .dependencies = record.dependencies,
                               .layer = is_image ? std::string() : record.layer,
                               .image = is_image ? record.layer : std::string(),
                               .image_name = image_name};
  Result<store::SnapshotRecord> kept =
      co_await store_.keep(std::move(session), std::move(wanted), cancel);
  if (!kept && is_over(record.state)) co_return fail(wrong_state(record.state));
  if (kept) {
    registry_.note(record.id, "snapshot", kept->id.str());
    registry_.publish(entry, "snapshot");
  }
  co_return kept;
}

}  // namespace glovebox::sessions
