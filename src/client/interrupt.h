// Signals end the one call of a command by closing its connection, which is what ends its run.
#pragma once

#include "client/api.h"

namespace glovebox::client {

// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT interrupt the call that is under way.
void interrupt_on_signals();
bool was_interrupted();

// The call under way, while this is alive. One at a time.
class InterruptibleCall {
 public:
  explicit InterruptibleCall(Api& api);
  ~InterruptibleCall();
  InterruptibleCall(const InterruptibleCall&) = delete;
  InterruptibleCall& operator=(const InterruptibleCall&) = delete;
};

}  // namespace glovebox::client
