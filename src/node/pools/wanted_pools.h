// Which pools there are without a request: those of templates that keep some waiting, as their
// files say or as projects and the administrator want it, for runs and for sessions. One thread;
// never fails.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/template.h"
#include "node/pools/idle_pools.h"
#include "node/pools/sandbox_request.h"
#include "node/pools/session_pools.h"
#include "node/pools/template_table.h"

namespace glovebox::node {

class WantedPools {
 public:
  // All outlive this object. `project`: whose sessions wait that a template's file asks for.
  WantedPools(IdlePools& pools, TemplateTable& templates, const std::string& project)
      : pools_(pools), templates_(templates), project_(project) {}

  // Which sessions wait; replaces what `who` wanted before.
  void set_sessions(const std::string& who, std::vector<SessionPoolRequest> wanted);
  // What waits of a template that this server defined; nothing: what its base has.
  void set_template(const std::string& id, TemplatePools pools);

  // The status with the bounds that were set for a template of this server's.
  TemplateStatus with_own_bounds(TemplateStatus status) const;
  // Adds and changes pools; the table knows the template already.
  void on_template(const TemplateStatus& status);
  // The pool that this request for a session may be served from; null: there is none.
  Pool* pool_for_session(const SandboxRequest& request, const TemplateStatus& status);

 private:
  Pool* add(const SessionPools::Wanted& wanted);
  void set_sessions_of_file(const std::string& name, PoolBounds bounds);

  IdlePools& pools_;
  TemplateTable& templates_;
  const std::string& project_;
  SessionPools sessions_;
  std::map<std::string, TemplatePools> of_templates_;  // by their ids
};

}  // namespace glovebox::node
