#include "node/pools/session_pools.h"

namespace glovebox::node {
namespace {

Limits limits_of(const SessionPoolRequest& wanted, const TemplateStatus& status) {
  return session_limits(
      fill_in(wanted.profile, with_defaults(status.description.limits, wanted.defaults)).limits);
}

}  // namespace

void SessionPools::set(const std::string& who, std::vector<SessionPoolRequest> wanted) {
  std::erase_if(wanted, [](const SessionPoolRequest& one) { return one.bounds.max == 0; });
  if (wanted.empty()) {
    wanted_.erase(who);
  } else {
    wanted_.insert_or_assign(who, std::move(wanted));
  }
}

std::vector<SessionPools::Wanted> SessionPools::of(const TemplateStatus& status) const {
  std::vector<Wanted> found;
  for (const auto& [who, requests] : wanted_) {
    for (const SessionPoolRequest& one : requests) {
      if (one.template_name != status.description.name || one.project.empty()) continue;
      const Limits limits = limits_of(one, status);
      const PoolKey key{one.template_name, EngineKind::kJail, one.project,
                        session_limits_text(limits)};
      found.push_back({key, {one.project, limits}, one.bounds});
    }
  }
  return found;
}

std::optional<SessionPools::Wanted> SessionPools::for_request(const SandboxRequest& request,
                                                              const TemplateStatus& status) const {
  if (!request.session || !request.mounts.empty() || !request.layer.empty()) return std::nullopt;
  const PoolKey key{request.key.template_name, request.key.engine, request.project,
                    session_limits_text(request.limits)};
  const PoolBounds bounds = bounds_of(key, status);
  if (bounds.max == 0) return std::nullopt;
  return Wanted{key, {request.project, request.limits}, bounds};
}

PoolBounds SessionPools::bounds_of(const PoolKey& key, const TemplateStatus& status) const {
  PoolBounds bounds;
  for (const auto& [who, requests] : wanted_) {
    for (const SessionPoolRequest& one : requests) {
      if (one.template_name != key.template_name || key.engine != EngineKind::kJail) continue;
      if (session_limits_text(limits_of(one, status)) != key.session_limits) continue;
      if (one.project == key.project) return one.bounds;
      if (one.project.empty()) bounds = {0, one.bounds.max};
    }
  }
  return bounds;
}

}  // namespace glovebox::node
