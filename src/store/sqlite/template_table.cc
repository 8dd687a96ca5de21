#include "store/sqlite/template_table.h"

#include "store/session_record.h"

namespace glovebox::store {
namespace {

constexpr std::int64_t kNoBound = -1;

}  // namespace

Result<> TemplateTable::insert(const TemplateRecord& made) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kFsync));
  TRY(Statement insert,
      db_.prepare("INSERT INTO templates(id, project, name, base, description, key_id, created_ms, "
                  "preload, env, wall_ms, cpu_ms, memory_bytes, disk_bytes, pids, cpu_thousandths, "
                  "limits_asked_for, dependencies, snapshot, layer, pool_min, pool_max, "
                  "session_pool_min, session_pool_max, image, image_name) "
                  "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  const TemplateDefinition& definition = made.definition;
  const std::string preload = pack_texts(definition.preload);
  const std::string env = pack_texts(definition.env);
  const std::string dependencies = pack_dependencies(made.dependencies);
  const Limits& limits = definition.limits;
  TRY_OK(quota_.admit(made.project, kDefinitionRowBytes + preload.size() + env.size() +
                                        dependencies.size() + made.description.size()));
  TRY_OK(insert
             .bind(definition.id, made.project, made.name, definition.from, made.description,
                   made.key_id, made.created_ms, Blob{preload}, Blob{env},
                   static_cast<std::int64_t>(limits.wall.count()),
                   static_cast<std::int64_t>(limits.cpu_time.count()), limits.memory_bytes,
                   limits.disk_bytes, limits.pids, limits.cpu_thousandths,
                   static_cast<int>(limits.asked_for), Blob{dependencies}, made.snapshot,
                   made.layer, made.pool ? std::int64_t{made.pool->min} : kNoBound,
                   made.pool ? std::int64_t{made.pool->max} : kNoBound, made.session_pool.min,
                   made.session_pool.max, definition.image, made.image_name)
             .run());
  return transaction.commit();
}

Result<> TemplateTable::remove(const std::string& id) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kFsync));
  TRY(Statement remove, db_.prepare("DELETE FROM templates WHERE id = ?"));
  TRY_OK(remove.bind(id).run());
  if (db_.changes() == 0) return fail(Errc::kNotFound, "there is no such template");
  return transaction.commit();
}

Result<> TemplateTable::set_layer(const std::string& id, const std::string& layer) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kFsync));
  TRY(Statement update, db_.prepare("UPDATE templates SET layer = ? WHERE id = ?"));
  TRY_OK(update.bind(layer, id).run());
  if (db_.changes() == 0) return fail(Errc::kNotFound, "there is no such template");
  return transaction.commit();
}

Result<std::vector<TemplateRecord>> TemplateTable::all() {
  TRY(Statement select,
      db_.prepare(
          "SELECT id, project, name, base, description, key_id, created_ms, preload, env, "
          "wall_ms, cpu_ms, memory_bytes, disk_bytes, pids, cpu_thousandths, "
          "limits_asked_for, dependencies, snapshot, layer, pool_min, pool_max, "
          "session_pool_min, session_pool_max, image, image_name FROM templates ORDER BY seq"));
  std::vector<TemplateRecord> templates;
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return templates;
    TemplateRecord made{.project = select.text(1),
                        .name = select.text(2),
                        .description = select.text(4),
                        .key_id = select.text(5),
                        .created_ms = select.integer(6),
                        .definition = {.id = select.text(0),
                                       .from = select.text(3),
                                       .preload = unpack_texts(select.text(7)),
                                       .env = unpack_texts(select.text(8)),
                                       .limits = {},
                                       .image = select.text(23)},
                        .dependencies = unpack_dependencies(select.text(16)),
                        .snapshot = select.text(17),
                        .layer = select.text(18),
                        .image_name = select.text(24),
                        .session_pool = {static_cast<std::uint32_t>(select.integer(21)),
                                         static_cast<std::uint32_t>(select.integer(22))}};
    if (select.integer(19) != kNoBound) {
      made.pool = {static_cast<std::uint32_t>(select.integer(19)),
                   static_cast<std::uint32_t>(select.integer(20))};
    }
    Limits& limits = made.definition.limits;
    limits.wall = std::chrono::milliseconds(select.integer(9));
    limits.cpu_time = std::chrono::milliseconds(select.integer(10));
    limits.memory_bytes = static_cast<std::uint64_t>(select.integer(11));
    limits.disk_bytes = static_cast<std::uint64_t>(select.integer(12));
    limits.pids = static_cast<std::uint32_t>(select.integer(13));
    limits.cpu_thousandths = static_cast<std::uint32_t>(select.integer(14));
    limits.asked_for = static_cast<std::uint8_t>(select.integer(15));
    templates.push_back(std::move(made));
  }
}

}  // namespace glovebox::store
