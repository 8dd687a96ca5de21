#include "client/connection/signal_interrupt.h"

#include <signal.h>

namespace glovebox::client {
namespace {

ApiClient* interruptible_client = nullptr;
volatile sig_atomic_t signal_arrived = 0;

void on_signal(int) {
  signal_arrived = 1;
  if (interruptible_client != nullptr) interruptible_client->interrupt();
}

}  // namespace

void interrupt_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
}

bool was_interrupted() { return signal_arrived != 0; }

InterruptibleRequest::InterruptibleRequest(ApiClient& client) { interruptible_client = &client; }
InterruptibleRequest::~InterruptibleRequest() { interruptible_client = nullptr; }

}  // namespace glovebox::client
