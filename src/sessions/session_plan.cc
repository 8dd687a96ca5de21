#include "sessions/session_plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/unique_fd.h"
#include "model/environment.h"
#include "packages/package_plan.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/user_environment.h"
#include "store/sha256.h"

namespace glovebox::sessions {
namespace {

void keep_snapshots_layer(const TemplateScope& scope, packages::PackageSetRequest& set) {
  if (scope.kept_layer.empty()) return;
  // The template may have a different layer by now; the snapshot keeps its own.
  if (scope.kept_layer != set.kept_layer) set.definition.id.clear();
  set.kept_layer = scope.kept_layer;
  set.snapshot = scope.snapshot;
}

}  // namespace

Result<SessionPlan> plan_session(const node::RunService& node, std::string template_name,
                                 const CreateRequest& request, EngineKind engine,
                                 std::optional<Grade> floor, const TemplateScope& scope) {
  TRY(const Dependencies asked,
      packages::joined_dependencies(scope.kept, request.profile.dependencies));
  const bool names_image = !request.profile.image.empty();
  const bool is_image = names_image || request.profile.image_use;
  if (names_image && (!request.template_name.empty() || !scope.snapshot.empty())) {
    return fail(Errc::kInvalidArgument,
                "profile.image: cannot be combined with a template or a snapshot");
  }
  packages::ImageOrigin origin;
  if (is_image && !names_image && scope.book != nullptr) {
    origin.own = scope.book->find(scope.project, template_name);
  }
  TRY(packages::ChosenTemplate chosen,
      is_image
          ? packages::choose_image(node, scope.project, request.profile, origin)
          : packages::choose_template_with(node, scope.book, scope.project, template_name, asked));
  const Template& made_of = chosen.made_of();
  const Profile profile =
      fill_in(request.profile, with_defaults(made_of.limits, request.default_limits));
  SessionPlan plan;
  plan.profile_hash = store::sha256_hex(canonical_text(profile));
  plan.spec.template_name = chosen.set ? request.set_template : made_of.name;
  if (!chosen.own_id.empty()) {
    plan.template_id = chosen.own_id;
    plan.template_env = made_of.env;
  }
  if (request.profile.image_use && origin.own == nullptr) {
    plan.template_env = image_environment(*request.profile.image_use);
  }
  plan.template_name = std::move(template_name);
  plan.spec.engine = engine;
  plan.spec.limits = session_limits(profile.limits);
  plan.spec.net = profile.net;
  for (const ProfileMount& mount : profile.mounts) {
    plan.spec.mounts.push_back({.mode = mount.mode, .guest = mount.guest, .name = mount.name});
  }
  plan.spec.min_grade = request.min_grade;
  plan.spec.must_pause = request.on_timeout != OnTimeout::kKill;
  if (floor) {
    plan.spec.min_grade = std::max(plan.spec.min_grade.value_or(Grade::kProcess), *floor);
  }
  if (chosen.set && engine != EngineKind::kJail) {
    return fail(Errc::kUnsupported,
                std::string(is_image ? "profile.image: the " : "profile.dependencies: the ") +
                    std::string(engine_name(engine)) +
                    " engine supports neither packages nor images; use the jail engine");
  }
  plan.set = std::move(chosen.set);
  // The request adds no packages to the snapshot's: keep the layer that its files were made with.
  if (plan.set && !scope.kept.empty() && plan.set->dependencies == scope.kept) {
    keep_snapshots_layer(scope, *plan.set);
  }
  return plan;
}

std::vector<std::string> session_environment(const node::RunService& node,
                                             const store::SessionRecord& session) {
  std::vector<std::string> env = base_environment();
  for (std::string& word : env) {
    // Package clients put programs that a user installs there.
    if (word.starts_with("PATH=")) word.insert(5, std::string(kUsersPrograms) + ":");
  }
  // npm trusts only its own certificate authorities by default; a missing file does no harm.
  env.emplace_back("npm_config_cafile=/etc/ssl/certs/ca-certificates.crt");
  // An administrator's template may have the same name as a project's own.
  const TemplateStatus* status =
      session.template_id.empty() ? node.find_template(session.template_name) : nullptr;
  if (status != nullptr) env = joined_environment(std::move(env), status->description.env);
  return joined_environment(std::move(env), session.env);
}

std::optional<std::uint64_t> available_memory() {
  constexpr std::string_view kWord = "MemAvailable:";
  const UniqueFd fd(::open("/proc/meminfo", O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  char text[1024];  // MemAvailable is the third line
  const ssize_t got = ::read(fd.get(), text, sizeof text);
  std::string_view rest(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t at = rest.find(kWord);
  if (at == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(at + kWord.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::uint64_t kilobytes = 0;
  const auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), kilobytes);
  if (ec != std::errc{}) return std::nullopt;
  return kilobytes << 10;
}

}  // namespace glovebox::sessions
