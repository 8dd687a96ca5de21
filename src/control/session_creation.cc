#include "control/session_creation.h"

#include <cerrno>
#include <utility>

#include "control/auth.h"
#include "control/run_refusal.h"
#include "control/template_watch.h"

namespace glovebox::control {
namespace {

http::Response refuse_creation(App& app, const Error& error, const CreateRequest& wanted) {
  const bool is_snapshot = error.code() == Errc::kNotFound && !wanted.snapshot.empty();
  http::Response refusal = is_snapshot ? http::Response::from_error(error) : refuse_run(error);
  // Its own disk is too small for what is in the snapshot.
  if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT) {
    refusal = http::Response::refuse(507, "disk_full", error.message());
  }
  app.metrics.count_refusal(refusal.problem ? refusal.problem->code : "internal");
  return refusal;
}

}  // namespace

Result<Caller> caller_of(App& app, const http::Request& request) {
  auto who = principal_of(app, request);
  if (!who) return fail(Errc::kPermissionDenied, "this API key is not valid any more");
  TRY(std::string project, project_of(*who, request));
  return Caller{std::move(*who), std::move(project)};
}

Result<Caller> caller_of_one_project(App& app, const http::Request& request) {
  TRY(Caller caller, caller_of(app, request));
  if (caller.project == "*") return fail(Errc::kInvalidArgument, "project: name one");
  return caller;
}

asio::awaitable<Creation> create_session_for(App& app, http::Request& request, Caller caller,
                                             CreateRequest wanted) {
  Creation creation;
  co_await wait_for_templates(app);
  auto promise = app.keeper->promise_of(wanted, caller.project);
  if (!promise) {
    creation.refusal = refuse_creation(app, promise.error(), wanted);
    co_return creation;
  }
  auto admission = app.usage.admit(caller.who, *promise, std::chrono::steady_clock::now());
  if (!admission) {
    app.metrics.count_refusal("key_limit");
    creation.refusal = refuse_run(admission.error());
    co_return creation;
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  SessionKeeper::Owner owner{.project = caller.project, .key = caller.who.key};
  Result<SessionKeeper::Created> created = co_await app.keeper->create(
      wanted, std::move(owner), std::move(*admission), std::move(cancel));
  if (created) {
    creation.made = std::move(*created);
  } else {
    creation.refusal = refuse_creation(app, created.error(), wanted);
  }
  co_return creation;
}

}  // namespace glovebox::control
