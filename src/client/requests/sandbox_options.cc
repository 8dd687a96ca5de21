#include "client/requests/sandbox_options.h"

#include <boost/json.hpp>

#include "base/units.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

tl::unexpected<Error> invalid_sandbox_option(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

Result<json::object> mount_json(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == 0 || colon == std::string::npos) {
    return invalid_sandbox_option("--mount must be NAME:/guest/path or NAME:/guest/path:rw, not '" +
                                  word + "'");
  }
  std::string path = word.substr(colon + 1);
  std::string mode = "ro";
  if (const std::size_t last = path.rfind(':'); last != std::string::npos) {
    mode = path.substr(last + 1);
    path.resize(last);
  }
  if (mode != "ro" && mode != "rw") {
    return invalid_sandbox_option("--mount: the mode must be ro or rw, not '" + mode + "'");
  }
  return json::object{{"name", word.substr(0, colon)}, {"path", path}, {"mode", mode}};
}

Result<json::object> sandbox_profile_json(const NewSandboxOptions& sandbox) {
  json::object profile;
  TRY_OK(add_limits(sandbox.limits, profile));
  json::array mounts;
  for (const std::string& word : sandbox.mounts) {
    TRY(json::object mount, mount_json(word));
    mounts.push_back(std::move(mount));
  }
  if (!mounts.empty()) profile["mounts"] = std::move(mounts);
  TRY_OK(add_packages_and_network(sandbox.packages, sandbox.network, profile));
  if (!sandbox.image.empty()) profile["image"] = sandbox.image;
  return profile;
}

}  // namespace

Result<std::uint64_t> parse_seconds(const std::string& text, std::string_view option) {
  auto time = parse_duration(text);
  if (!time) return fail(std::move(time.error()).context(option));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*time).count();
  if (seconds < 1) return invalid_sandbox_option(std::string(option) + " must be at least 1s");
  return static_cast<std::uint64_t>(seconds);
}

Result<std::string> new_sandbox_json(const NewSandboxOptions& sandbox) {
  json::object body;
  if (!sandbox.template_name.empty() && !sandbox.snapshot.empty()) {
    return invalid_sandbox_option("use --template or --snapshot, not both");
  }
  if (!sandbox.image.empty() && !(sandbox.template_name.empty() && sandbox.snapshot.empty())) {
    return invalid_sandbox_option("use --image, --template or --snapshot, one of them");
  }
  if (!sandbox.template_name.empty()) body["template"] = sandbox.template_name;
  if (!sandbox.snapshot.empty()) body["snapshot"] = sandbox.snapshot;
  if (!sandbox.ttl.empty()) {
    TRY(body["ttl_s"], parse_seconds(sandbox.ttl, "--ttl"));
  }
  if (!sandbox.on_timeout.empty()) {
    if (sandbox.on_timeout != "kill" && sandbox.on_timeout != "pause") {
      return invalid_sandbox_option("--on-timeout must be kill or pause, not '" +
                                    sandbox.on_timeout + "'");
    }
    body["on_timeout"] = sandbox.on_timeout;
  }
  if (!sandbox.agent_id.empty()) body["agent_id"] = sandbox.agent_id;
  if (!sandbox.name.empty()) body["name"] = sandbox.name;
  if (!sandbox.min_grade.empty()) body["min_grade"] = sandbox.min_grade;
  if (sandbox.private_ports) body["private_ports"] = true;
  TRY(json::object env, named_values_json(sandbox.env, "--env"));
  if (!env.empty()) body["env"] = std::move(env);
  TRY(json::object metadata, named_values_json(sandbox.metadata, "--metadata"));
  if (!metadata.empty()) body["metadata"] = std::move(metadata);
  TRY(json::object profile, sandbox_profile_json(sandbox));
  if (sandbox.packages.is_given()) {
    TRY(const Dependencies wanted, wire::read_package_options(sandbox.packages));
    if (sandbox.template_name.empty() && sandbox.snapshot.empty()) {
      body["template"] = wire::default_template(wanted);
    }
  }
  if (!profile.empty()) body["profile"] = std::move(profile);
  return json::serialize(body);
}

}  // namespace glovebox::client
