#include "templates/project_templates.h"

#include <algorithm>

#include "base/log.h"
#include "base/wall_clock.h"
#include "model/template_rules.h"
#include "node/links/launcher_error.h"
#include "store/store_call.h"

namespace glovebox::templates {
namespace {

constexpr std::chrono::seconds kFailureWindow{60};

// Reserves a name while the template is created; also released if the coroutine is destroyed.
struct Reserved {
  using Keys = std::map<std::pair<std::string, std::string>, std::uint32_t>;
  Reserved(Keys& keys, std::pair<std::string, std::string> key, std::uint32_t waiting)
      : all(keys), at(all.emplace(std::move(key), waiting).first) {}
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ~Reserved() { all.erase(at); }
  Keys& all;
  Keys::iterator at;
};

// The launcher never sees templates of snapshots; those with packages or of an image are defined
// when these are prepared.
bool is_defined_at_load(const store::TemplateRecord& made) {
  return made.dependencies.empty() && made.snapshot.empty() && made.definition.image.empty();
}

TemplatePools pools_of(const store::TemplateRecord& made) {
  if (!made.pool && made.session_pool == PoolBounds{}) return {};
  return {.project = made.project, .runs = made.pool, .sessions = made.session_pool};
}

// What waits without demand.
std::uint32_t waiting_of(const store::TemplateRecord& made) {
  return (made.pool ? made.pool->min : 0) + made.session_pool.min;
}

tl::unexpected<Error> of_a_snapshot(const std::string& name) {
  return fail(
      Errc::kInvalidArgument,
      "template: \"" + name +
          "\" is the template of a snapshot, which runs cannot use: create a sandbox from it "
          "(POST /v1/sandboxes) and run there");
}

}  // namespace

Result<> ProjectTemplates::load() {
  TRY(std::vector<store::TemplateRecord> records, store_.all_templates());
  std::vector<TemplateDefinition> definitions;
  for (store::TemplateRecord& record : records) {
    if (is_defined_at_load(record)) definitions.push_back(record.definition);
    service_.set_pools(record.definition.id, pools_of(record));
    Key key(record.project, record.name);
    by_id_.emplace(record.definition.id, key);
    all_.emplace(std::move(key), std::move(record));
  }
  service_.keep(std::move(definitions));
  return {};
}

Result<> ProjectTemplates::check_new(const store::TemplateRecord& wanted) const {
  const TemplateDefinition& definition = wanted.definition;
  TRY_OK(check_definition(definition));
  const Key key(wanted.project, wanted.name);
  for (const ReservedName& reserved : reserved_) {
    if (wanted.name != reserved.name) continue;
    return fail(Errc::kConflict, "name: \"" + wanted.name + "\" is reserved: " + reserved.reason);
  }
  if (node_.find_template(wanted.name) != nullptr || all_.contains(key) ||
      being_made_.contains(key)) {
    return fail(Errc::kConflict, "name: template \"" + wanted.name + "\" already exists");
  }
  const auto is_its = [&](const auto& one) { return one == wanted.project; };
  std::size_t count = 0;
  for (const auto& [other, record] : all_) count += is_its(other.first) ? 1 : 0;
  for (const auto& [other, pools] : being_made_) count += is_its(other.first) ? 1 : 0;
  if (count >= kMostOfAProject) {
    return fail(Errc::kResourceExhausted, "the project reached its limit of " +
                                              std::to_string(count) +
                                              " templates; remove one first");
  }
  // What waits without demand takes from the host what others could use.
  std::uint32_t waiting = waiting_of(wanted);
  for (const auto& [other, record] : all_) {
    if (is_its(other.first)) waiting += waiting_of(record);
  }
  for (const auto& [other, pools] : being_made_) waiting += is_its(other.first) ? pools : 0;
  if (waiting_of(wanted) > 0 && waiting > kMostWaitingOfAProject) {
    return fail(Errc::kPolicy, "pool.min: the templates of a project may keep " +
                                   std::to_string(kMostWaitingOfAProject) +
                                   " sandboxes waiting together; with this one it would be " +
                                   std::to_string(waiting));
  }
  if (!wanted.snapshot.empty()) return {};
  if (find(wanted.project, definition.from) != nullptr) {
    return fail(
        Errc::kInvalidArgument,
        "from: \"" + definition.from + "\" is a template of the project; use its base instead");
  }
  if (node_.find_template(definition.from) == nullptr) {
    return fail(node_.templates().empty() ? Errc::kUnavailable : Errc::kNotFound,
                "from: there is no template \"" + definition.from + "\"");
  }
  return {};
}

std::chrono::seconds ProjectTemplates::wait_of(const std::string& project, TimePoint now) const {
  const auto found = made_at_.find(project);
  if (found == made_at_.end() || found->second.size() < kMostInAMinute) return {};
  const TimePoint oldest = found->second[found->second.size() - kMostInAMinute];
  return std::max(std::chrono::ceil<std::chrono::seconds>(oldest + kFailureWindow - now),
                  std::chrono::seconds(0));
}

Result<> ProjectTemplates::count(const std::string& project, TimePoint now) {
  for (auto& [name, times] : made_at_) {
    while (!times.empty() && times.front() + kFailureWindow <= now) times.pop_front();
  }
  std::erase_if(made_at_, [](const auto& one) { return one.second.empty(); });
  if (const auto wait = wait_of(project, now); wait.count() > 0) {
    return fail(Errc::kResourceExhausted, "the project reached its limit of " +
                                              std::to_string(kMostInAMinute) +
                                              " new templates per minute; try again in " +
                                              std::to_string(wait.count()) + " s");
  }
  made_at_[project].push_back(now);
  return {};
}

Task<store::TemplateRecord> ProjectTemplates::create(store::TemplateRecord wanted, Define define) {
  wanted.definition.id = make_dynamic_template_id();
  wanted.created_ms = wall_clock_ms();
  CO_TRY_OK(check_new(wanted));
  CO_TRY_OK(count(wanted.project, std::chrono::steady_clock::now()));
  const Key key(wanted.project, wanted.name);
  const std::string id = wanted.definition.id;
  const Reserved reserved(being_made_, key, waiting_of(wanted));
  service_.set_pools(id, pools_of(wanted));
  // First at the launcher, which may refuse it. If storing it fails, the launcher forgets it.
  Result<> defined;
  if (define) {
    defined = co_await define(wanted);
  } else {
    defined = co_await service_.define(wanted.definition);
  }
  if (!defined) {
    service_.set_pools(id, {});
    co_return fail(std::move(defined.error()));
  }
  const store::Ask<void> ask = [&](store::Callback<> done) {
    store_.add_template(wanted, std::move(done));
  };
  Result<> stored = co_await store::store_call(ask);
  if (!stored) {
    service_.set_pools(id, {});
    service_.forget(id);
    co_return fail(std::move(stored.error()));
  }
  by_id_.insert_or_assign(id, key);
  all_.insert_or_assign(key, wanted);
  log::info("template created",
            {{"project", wanted.project}, {"template", wanted.name}, {"id", id}});
  co_return wanted;
}

Task<> ProjectTemplates::remove(std::string project, std::string name) {
  const store::TemplateRecord* known = find(project, name);
  if (known == nullptr) co_return fail(Errc::kNotFound, "the project has no such template");
  const std::string id = known->definition.id;
  const store::Ask<void> ask = [&](store::Callback<> done) {
    store_.remove_template(id, std::move(done));
  };
  CO_TRY_OK(co_await store::store_call(ask));
  by_id_.erase(id);
  const bool was_defined = known->snapshot.empty();
  all_.erase({project, name});
  service_.set_pools(id, {});
  if (was_defined) service_.forget(id);
  log::info("template removed", {{"project", project}, {"template", name}, {"id", id}});
  co_return Result<>();
}

Task<> ProjectTemplates::set_layer(std::string id, std::string layer) {
  // In memory first: this pins the layer and prevents a second write.
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) co_return fail(Errc::kNotFound, "there is no such template");
  all_.at(at->second).layer = layer;
  const store::Ask<void> ask = [&](store::Callback<> done) {
    store_.set_template_layer(id, layer, std::move(done));
  };
  co_return co_await store::store_call(ask);
}

const store::TemplateRecord* ProjectTemplates::find(const std::string& project,
                                                    const std::string& name) const {
  const auto at = all_.find({project, name});
  return at == all_.end() ? nullptr : &at->second;
}

const store::TemplateRecord* ProjectTemplates::find_id(std::string_view id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &all_.at(at->second);
}

std::vector<store::TemplateRecord> ProjectTemplates::list(const std::string& project) const {
  std::vector<store::TemplateRecord> records;
  for (const auto& [key, record] : all_) {
    if (project == "*" || key.first == project) records.push_back(record);
  }
  return records;
}

const store::TemplateRecord* ProjectTemplates::of_snapshot(const std::string& id) const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& one) { return one.second.snapshot == id; });
  return found == all_.end() ? nullptr : &found->second;
}

Result<> ProjectTemplates::check_snapshot_unused(const std::string& project,
                                                 const std::string& snapshot) const {
  const store::TemplateRecord* made = of_snapshot(snapshot);
  if (made == nullptr || (project != "*" && made->project != project)) return {};
  return fail(Errc::kConflict,
              "the template \"" + made->name + "\" uses this snapshot: remove the template first");
}

const store::TemplateRecord* ProjectTemplates::of_layer(const std::string& layer) const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& one) { return one.second.layer == layer; });
  return found == all_.end() ? nullptr : &found->second;
}

const store::TemplateRecord* ProjectTemplates::of_image(const std::string& image) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& one) {
    return one.second.definition.image == image;
  });
  return found == all_.end() ? nullptr : &found->second;
}

// The status of the template that its sandboxes have before the snapshot is restored.
TemplateStatus ProjectTemplates::status_of_snapshot(const store::TemplateRecord& made) const {
  const std::string& from = made.definition.from;
  const store::TemplateRecord* own = find(made.project, from);
  TemplateStatus status;
  if (own != nullptr && own->snapshot.empty()) {
    status = status_of(*own);
  } else if (const TemplateStatus* base = node_.find_template(from)) {
    status = *base;
  } else {
    status.state = node_.templates().empty() ? RuntimeState::kStarting : RuntimeState::kFailed;
    status.error = "snapshot: its template \"" + from + "\" does not exist";
  }
  status.description.built_in = false;
  return status;
}

TemplateStatus ProjectTemplates::status_of(const store::TemplateRecord& made) const {
  const TemplateDefinition& definition = made.definition;
  TemplateStatus status;
  if (!made.snapshot.empty()) {
    status = status_of_snapshot(made);
  } else if (const TemplateStatus* known = service_.find(definition.id)) {
    status = *known;
  } else {
    // The launcher has not reported it yet, or refused it.
    if (const TemplateStatus* base = node_.find_template(definition.from)) {
      status.description = base->description;
      status.description.built_in = false;
    }
    for (const std::string& module : definition.preload) {
      status.description.preload.push_back(module);
    }
    const std::optional<Error> refusal = service_.refusal_of(definition.id);
    const bool is_reported = service_.settled() && !node_.templates().empty();
    const bool has_base = node_.find_template(definition.from) != nullptr;
    status.state = refusal || is_reported ? RuntimeState::kFailed : RuntimeState::kStarting;
    if (refusal) {
      status.error = refusal->message();
    } else if (is_reported && has_base && !is_defined_at_load(made)) {
      status.state = RuntimeState::kIdle;  // until its first use
    } else if (is_reported) {
      status.error = "from: there is no template \"" + definition.from + "\" any longer";
    }
  }
  if (made.pool) {
    status.description.pool_min = made.pool->min;
    status.description.pool_max = made.pool->max;
  }
  status.description.name = made.name;
  status.description.description = made.description;
  return status;
}

Result<const TemplateStatus*> choose_template(const node::RunService& node,
                                              const ProjectTemplates* own_templates,
                                              const std::string& project, const std::string& name) {
  const store::TemplateRecord* own =
      own_templates != nullptr ? own_templates->find(project, name) : nullptr;
  if (own != nullptr && !own->snapshot.empty()) return of_a_snapshot(name);
  const TemplateStatus* status =
      own != nullptr ? own_templates->known_status_of(*own) : node.find_template(name);
  if (status != nullptr && status->state != RuntimeState::kRemoved) return status;
  if (node.templates().empty() || (own != nullptr && !own_templates->settled())) {
    return fail(node::launcher_error("the launcher has not reported its templates yet; try again"));
  }
  if (own != nullptr) {
    const TemplateStatus shown = own_templates->status_of(*own);
    return fail(Errc::kNotFound, "template: \"" + name + "\" cannot be used: " + shown.error);
  }
  return fail(Errc::kNotFound, "template: unknown template \"" + name + "\"");
}

}  // namespace glovebox::templates
