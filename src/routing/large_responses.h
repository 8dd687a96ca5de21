// Answers of many megabytes: encoded on a worker thread, so that the server's one thread is free
// for other clients, and counted until the client has received them, so that a slow client cannot
// fill the server's memory.
#pragma once

#include <string>

#include "base/memory_budget.h"
#include "base/task.h"
#include "http/message.h"
#include "model/outcome.h"
#include "routing/worker.h"

namespace glovebox::routing {

class LargeResponses {
 public:
  // Both are borrowed and outlive this.
  LargeResponses(Worker& worker, MemoryBudget& budget) : worker_(worker), budget_(budget) {}

  // `exit_json` is an object; stdout and stderr of the outcome are inserted at its beginning.
  // `owner` is the project in whose turn a large one is written.
  asio::awaitable<std::string> with_output(std::string owner, std::string exit_json,
                                           Outcome outcome);

  // The answer with that JSON text. kResourceExhausted: too many large answers of this owner, or of
  // all, wait to be read.
  Result<http::Response> respond(const std::string& owner, std::string body);

 private:
  Worker& worker_;
  MemoryBudget& budget_;
};

}  // namespace glovebox::routing
