#include "routing/sandbox_creation.h"

#include <cerrno>
#include <utility>

#include "routing/refusals.h"

namespace glovebox::routing {
namespace {

http::Response refuse_creation(const Error& error, const sessions::CreateRequest& wanted) {
  // The new sandbox's disk is too small for the snapshot.
  if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT) {
    return http::Response::refuse(507, "disk_full", error.message());
  }
  if (error.code() == Errc::kConflict && error.sys_errno() == EEXIST) {
    return http::Response::refuse(409, "name_taken", error.message());
  }
  const bool is_snapshot = error.code() == Errc::kNotFound && !wanted.snapshot.empty();
  return is_snapshot ? http::Response::from_error(error) : refuse_run(error);
}

}  // namespace

void SandboxCreation::resolve_snapshot_template(const std::string& project,
                                                sessions::CreateRequest& wanted) const {
  if (wanted.template_name.empty()) return;
  const store::TemplateRecord* own = deps_.templates.find(project, wanted.template_name);
  if (own == nullptr || own->snapshot.empty()) return;
  wanted.snapshot = own->snapshot;
  wanted.template_name.clear();
}

Task<> SandboxCreation::find_image(std::string project, sessions::CreateRequest& wanted) const {
  if (!wanted.profile.image.empty()) {
    CO_TRY(wanted.profile.image_use, co_await deps_.images.use(project, wanted.profile.image));
    co_return Result<>();
  }
  // requirements_of() says what is wrong with the request.
  const auto made_of = deps_.creator.image_of(wanted, project);
  if (!made_of || !*made_of) co_return Result<>();
  CO_TRY(ImageUse image, co_await deps_.images.use(std::move(project), (*made_of)->id));
  image.name = (*made_of)->name;
  wanted.profile.image_use = std::move(image);
  co_return Result<>();
}

http::Response SandboxCreation::counted(http::Response refusal, const std::string& project) {
  deps_.metrics.count_refusal(code_of(refusal), project);
  return refusal;
}

asio::awaitable<CreationResult> SandboxCreation::create(http::Request& request, Caller caller,
                                                        sessions::CreateRequest wanted) {
  CreationResult creation;
  co_await deps_.watcher.wait_until_known();
  resolve_snapshot_template(caller.project, wanted);
  if (auto found = co_await find_image(caller.project, wanted); !found) {
    creation.refusal = counted(refuse_image_use(found.error()), caller.project);
    co_return creation;
  }
  auto needed = deps_.creator.requirements_of(wanted, caller.project);
  if (!needed) {
    creation.refusal = counted(refuse_creation(needed.error(), wanted), caller.project);
    co_return creation;
  }
  auto admission = deps_.usage.admit(caller.who, needed->bytes, std::chrono::steady_clock::now());
  if (!admission) {
    creation.refusal = counted(refuse_run(admission.error()), caller.project);
    co_return creation;
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  // An existing session of the agent_id already has its packages.
  const bool exists =
      !wanted.agent_id.empty() && deps_.registry.of_agent(caller.project, wanted.agent_id);
  std::shared_ptr<void> hold;  // on the prepared packages, until the session is created
  if (needed->packages && !exists) {
    needed->packages->key_id = caller.who.key.str();
    auto prepared = co_await deps_.packages.prepare(std::move(*needed->packages), cancel);
    if (!prepared) {
      creation.refusal = counted(refuse_packages(prepared.error()), caller.project);
      co_return creation;
    }
    wanted.set_template = std::move(prepared->template_id);
    wanted.set_layer = std::move(prepared->layer_id);
    hold = std::move(prepared->hold);
  }
  sessions::SessionOwner owner{.project = caller.project, .key = caller.who.key};
  Result<sessions::CreatedSession> created = co_await deps_.creator.create(
      wanted, std::move(owner), std::move(*admission), std::move(cancel));
  if (created) {
    creation.made = std::move(*created);
  } else {
    creation.refusal = counted(refuse_creation(created.error(), wanted), caller.project);
  }
  co_return creation;
}

}  // namespace glovebox::routing
