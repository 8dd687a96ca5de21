// Which sessions wait ahead of requests: what the administrator and the projects want, by template.
// How many wait at a time is Pool's and PoolSize's business. One thread; never fails.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/limits.h"
#include "model/pool_key.h"
#include "model/profile.h"
#include "model/template.h"
#include "node/pools/sandbox_request.h"

namespace glovebox::node {

struct SessionPoolRequest {
  std::string template_name;  // as the launcher knows it
  // Empty: of every project, from its first request on. Only `bounds.max` counts then.
  std::string project{};
  // The limits that requests will have: the template's, but for these.
  ProfileRequest profile{};
  LimitDefaults defaults{};
  PoolBounds bounds{};
};

class SessionPools {
 public:
  // Replaces what `who` wanted before.
  void set(const std::string& who, std::vector<SessionPoolRequest> wanted);

  struct Wanted {
    PoolKey key;
    WaitingSession session;
    PoolBounds bounds;
  };
  // The pools of this template that are there without a request.
  std::vector<Wanted> of(const TemplateStatus& status) const;
  // The pool that this request may be served from; none: it is made when it is asked for.
  std::optional<Wanted> for_request(const SandboxRequest& request,
                                    const TemplateStatus& status) const;
  // Zero: it is not wanted, or not any more.
  PoolBounds bounds_of(const PoolKey& key, const TemplateStatus& status) const;

 private:
  std::map<std::string, std::vector<SessionPoolRequest>> wanted_;
};

}  // namespace glovebox::node
