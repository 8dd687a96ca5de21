// How a connection calls a handler: counted, and with exceptions turned into errors. Private to
// src/http.
#pragma once

#include "http/router.h"
#include "http/server/connection_owners.h"
#include "http/server/server.h"

namespace glovebox::http {

// Counts a running handler, for max_requests.
class RunningHandler {
 public:
  RunningHandler(ServerFigures& figures, ConnectionOwners::Place& place)
      : figures_(figures), place_(place) {
    ++figures_.requests_in_progress;
    ++figures_.requests_total;
    place_.begin_request();
  }
  ~RunningHandler() {
    place_.end_request();
    --figures_.requests_in_progress;
  }
  RunningHandler(const RunningHandler&) = delete;
  RunningHandler& operator=(const RunningHandler&) = delete;

 private:
  ServerFigures& figures_;
  ConnectionOwners::Place& place_;
};

// Our code does not throw; what a library throws becomes an error of this one request. Out of
// memory goes on to the top of the program.
Task<Response> call_handler(const Handler& handler, Request& request, ResponseWriter& writer);

}  // namespace glovebox::http
