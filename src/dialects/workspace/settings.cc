#include "dialects/workspace/settings.h"

#include <string>

#include "store/key.h"

namespace glovebox::workspace {

std::vector<node::SessionPoolRequest> waiting_sessions(const Settings& settings) {
  node::SessionPoolRequest wanted{.template_name = std::string(kDefaultTemplate),
                                  .project = std::string(store::kDefaultProject),
                                  .defaults = kDefaultLimits,
                                  .bounds = {settings.pool_size, settings.pool_size}};
  wanted.profile.cpu_thousandths = settings.cpu_thousandths;
  wanted.profile.memory_bytes = settings.memory_bytes;
  node::SessionPoolRequest of_others = wanted;
  of_others.project.clear();
  return {wanted, of_others};
}

}  // namespace glovebox::workspace
