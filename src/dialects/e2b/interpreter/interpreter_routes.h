// E2B's code interpreter, virtual port 49999: contexts, and code in them as a stream of lines. They
// are the sandbox's own contexts, the same that /v1 shows.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <span>

#include "base/task.h"
#include "dialects/e2b/agent_access.h"
#include "http/message.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "sessions/contexts/context_table.h"
#include "sessions/sessions.h"

namespace glovebox::e2b {

class InterpreterRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    AgentAccess& access;
    sessions::Contexts& contexts;
    sessions::Sessions& sessions;
    routing::Worker& worker;  // for large bodies
  };
  explicit InterpreterRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<InterpreterRoutes>> rows();
  // Whether the matched route requires the access token, to refuse a request before its body is
  // read.
  static AccessToken token_for(const http::Request& request);

  Task<http::Response> execute(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> create_context(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_contexts(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> restart_context(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_context(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> health(http::Request& request, http::ResponseWriter& writer);

 private:
  struct Found {
    std::shared_ptr<sessions::ContextTable> table;
    std::shared_ptr<sessions::Context> context;  // null: a default context that was not used yet
    std::optional<http::Response> refusal{};
  };
  // The context of the path parameter "context".
  asio::awaitable<Found> find_context(const http::Request& request);
  // An execution that fails with an explanation: the sandbox has no interpreter for the language.
  Task<http::Response> refuse_language(http::ResponseWriter& writer, std::string why);
  // Whether the sandbox has ended. An interpreter that dies with its sandbox may be reported before
  // the sandbox's own end.
  bool has_ended(const node::Session& session, const Result<sessions::CellReport>& report) const;

  const Dependencies deps_;
};

}  // namespace glovebox::e2b
