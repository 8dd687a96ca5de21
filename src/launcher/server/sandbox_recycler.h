// Gives a reusable sandbox its next runtime, between two calls: the agent removes what the last
// call left, puts a new scratch from here in the place of the old one, and passes the descriptors
// of a new runtime; the launcher passes those on to the zygote, together with the namespaces and
// cgroups that it has kept since the sandbox was sealed. From then on it is as with a sandbox that
// has just been made (SandboxTable::check_joining).
//
// The agent is asked, never trusted: one join for one call, and only the kinds of descriptors that
// a runtime has.
#pragma once

#include <span>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/jail_maker.h"
#include "launcher/nursery/template_nurseries.h"
#include "launcher/sandbox/sandbox.h"

namespace glovebox::launcher {

class SandboxRecycler {
 public:
  explicit SandboxRecycler(JailMaker& jails) : jails_(jails), nurseries_(jails.nurseries()) {}

  // The call is over: asks the agent to clean up. `link` is the agent's end for the next call.
  // After an error the sandbox must be ended.
  Result<> begin(Sandbox& sandbox, UniqueFd link, bool hurry);
  // The agent has cleaned up: `fds` came with its JoinRuntime.
  Result<> join(Sandbox& sandbox, std::span<const UniqueFd> fds);

 private:
  JailMaker& jails_;
  TemplateNurseries& nurseries_;
};

}  // namespace glovebox::launcher
