#include "routing/sandbox_creation.h"

#include <cerrno>
#include <utility>

#include "routing/authentication.h"
#include "packages/package_json.h"
#include "routing/refusals.h"
#include "packages/prepare_packages.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::routing {
namespace {

http::Response refuse_creation(App& app, const Error& error, const sessions::CreateRequest& wanted) {
  const bool is_snapshot = error.code() == Errc::kNotFound && !wanted.snapshot.empty();
  http::Response refusal = is_snapshot ? http::Response::from_error(error) : refuse_run(error);
  // Its own disk is too small for what is in the snapshot.
  if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT) {
    refusal = http::Response::refuse(507, "disk_full", error.message());
  }
  app.metrics.count_refusal(refusal.problem ? refusal.problem->code : "internal");
  return refusal;
}

// A template that stands for a snapshot is that snapshot.
void name_snapshot(const App& app, const std::string& project, sessions::CreateRequest& wanted) {
  if (app.templates == nullptr || wanted.template_name.empty()) return;
  const store::TemplateRecord* own = app.templates->find(project, wanted.template_name);
  if (own == nullptr || own->snapshot.empty()) return;
  wanted.snapshot = own->snapshot;
  wanted.template_name.clear();
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
                                             sessions::CreateRequest wanted) {
  Creation creation;
  co_await templates::wait_for_templates(app);
  name_snapshot(app, caller.project, wanted);
  auto promise = app.keeper->promise_of(wanted, caller.project);
  if (!promise) {
    creation.refusal = refuse_creation(app, promise.error(), wanted);
    co_return creation;
  }
  auto admission = app.usage.admit(caller.who, promise->bytes, std::chrono::steady_clock::now());
  if (!admission) {
    app.metrics.count_refusal("key_limit");
    creation.refusal = refuse_run(admission.error());
    co_return creation;
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  // Whose agent_id has a sandbox gets that one, and needs nothing more.
  const bool is_there =
      !wanted.agent_id.empty() && app.keeper->of_agent(caller.project, wanted.agent_id);
  std::shared_ptr<void> hold;  // of what is prepared, until it is made
  if (promise->set && !is_there) {
    promise->set->key_id = caller.who.key.str();
    auto made = co_await packages::prepare_set(app, std::move(*promise->set), cancel);
    if (!made) {
      creation.refusal = packages::refuse_packages(made.error());
      app.metrics.count_refusal(creation.refusal.problem ? creation.refusal.problem->code
                                                         : "internal");
      co_return creation;
    }
    wanted.set_template = std::move(made->template_id);
    wanted.set_layer = std::move(made->layer_id);
    hold = std::move(made->hold);
  }
  sessions::SessionKeeper::Owner owner{.project = caller.project, .key = caller.who.key};
  Result<sessions::SessionKeeper::Created> created = co_await app.keeper->create(
      wanted, std::move(owner), std::move(*admission), std::move(cancel));
  if (created) {
    creation.made = std::move(*created);
  } else {
    creation.refusal = refuse_creation(app, created.error(), wanted);
  }
  co_return creation;
}

}  // namespace glovebox::routing
