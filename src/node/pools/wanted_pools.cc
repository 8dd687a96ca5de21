#include "node/pools/wanted_pools.h"

#include <utility>

namespace glovebox::node {

void WantedPools::set_sessions(const std::string& who, std::vector<SessionPoolRequest> wanted) {
  sessions_.set(who, std::move(wanted));
  for (const TemplateStatus& status : templates_.all()) on_template(status);
}

void WantedPools::set_template(const std::string& id, TemplatePools pools) {
  std::vector<SessionPoolRequest> sessions;
  sessions.push_back({.template_name = id, .project = pools.project, .bounds = pools.sessions});
  if (pools == TemplatePools{}) {
    of_templates_.erase(id);
  } else {
    of_templates_.insert_or_assign(id, std::move(pools));
  }
  set_sessions(id, std::move(sessions));
}

TemplateStatus WantedPools::with_own_bounds(TemplateStatus status) const {
  const auto own = of_templates_.find(status.description.name);
  if (own != of_templates_.end() && own->second.runs) {
    status.description.pool_min = own->second.runs->min;
    status.description.pool_max = own->second.runs->max;
  }
  return status;
}

// What the administrator's file of a template asks for: the waiting ones are of one project, and
// others get their own once they ask for sandboxes.
void WantedPools::set_sessions_of_file(const std::string& name, PoolBounds bounds) {
  std::vector<SessionPoolRequest> wanted;
  for (const std::string& project : {project_, std::string()}) {
    wanted.push_back({.template_name = name, .project = project, .bounds = bounds});
  }
  sessions_.set("file of " + name, std::move(wanted));
}

void WantedPools::on_template(const TemplateStatus& status) {
  const bool is_removed = status.state == RuntimeState::kRemoved;
  set_sessions_of_file(status.description.name,
                       is_removed ? PoolBounds{} : status.description.session_pool);
  pools_.on_template(status, sessions_);
  if (is_removed) return;
  const std::string& name = status.description.name;
  bool is_kept_ready = false;
  const PoolBounds of_runs{status.description.pool_min, status.description.pool_max};
  if (of_runs.min > 0) {
    pools_.find_or_add({name, EngineKind::kJail}, of_runs);
    is_kept_ready = true;
  }
  for (const SessionPools::Wanted& wanted : sessions_.of(status)) {
    if (wanted.bounds.min == 0) continue;
    add(wanted);
    is_kept_ready = true;
  }
  if (is_kept_ready) (void)templates_.request_runtime(name);
}

Pool* WantedPools::pool_for_session(const SandboxRequest& request, const TemplateStatus& status) {
  const auto wanted = sessions_.for_request(request, status);
  return wanted ? add(*wanted) : nullptr;
}

Pool* WantedPools::add(const SessionPools::Wanted& wanted) {
  Pool* pool = pools_.find_or_add(wanted.key, wanted.bounds, wanted.session.project);
  if (pool != nullptr && !pool->session) pool->session = wanted.session;
  return pool;
}

}  // namespace glovebox::node
