#include "client/interrupt.h"

#include <csignal>

namespace glovebox::client {
namespace {

Api* call_under_way = nullptr;
volatile sig_atomic_t interrupted = 0;

void interrupt_call(int) {
  interrupted = 1;
  if (call_under_way != nullptr) call_under_way->interrupt();
}

}  // namespace

void interrupt_on_signals() {
  struct sigaction action {};
  action.sa_handler = interrupt_call;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
}

bool was_interrupted() { return interrupted != 0; }

InterruptibleCall::InterruptibleCall(Api& api) { call_under_way = &api; }
InterruptibleCall::~InterruptibleCall() { call_under_way = nullptr; }

}  // namespace glovebox::client
