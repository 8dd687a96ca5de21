// Ends the request of this process when SIGINT, SIGTERM, SIGHUP or SIGQUIT arrives. Closing the
// connection is what makes the server end the run. One request per process.
#pragma once

#include "client/connection/api_client.h"

namespace glovebox::client {

inline constexpr int kExitInterrupted = 130;

// Installs the handlers and ignores SIGPIPE.
void interrupt_on_signals();
// Whether a signal has arrived.
bool was_interrupted();

// While it exists, a signal interrupts the requests of `client`.
class InterruptibleRequest {
 public:
  explicit InterruptibleRequest(ApiClient& client);
  ~InterruptibleRequest();
  InterruptibleRequest(const InterruptibleRequest&) = delete;
  InterruptibleRequest& operator=(const InterruptibleRequest&) = delete;
};

}  // namespace glovebox::client
