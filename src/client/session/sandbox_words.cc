#include "client/session/sandbox_words.h"

#include <boost/json.hpp>
#include <charconv>

#include "base/units.h"
#include "client/words.h"
#include "wire/dependencies_json.h"
#include "wire/net_policy_json.h"
#include "wire/net_words.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

Result<json::object> pairs_of(const std::vector<std::string>& words, std::string_view option) {
  json::object object;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail_invalid(std::string(option) + " must be NAME=VALUE, not '" + word + "'");
    }
    object[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return object;
}

Result<json::object> mount_of(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == 0 || colon == std::string::npos) {
    return fail_invalid("--mount must be NAME:/guest/path or NAME:/guest/path:rw, not '" + word +
                        "'");
  }
  std::string path = word.substr(colon + 1);
  std::string mode = "ro";
  if (const std::size_t last = path.rfind(':'); last != std::string::npos) {
    mode = path.substr(last + 1);
    path.resize(last);
  }
  if (mode != "ro" && mode != "rw")
    return fail_invalid("--mount: '" + mode + "' is neither ro nor rw");
  return json::object{{"name", word.substr(0, colon)}, {"path", path}, {"mode", mode}};
}

Result<json::object> sandbox_profile(const NewSandboxWords& words) {
  json::object profile;
  if (!words.memory.empty()) {
    TRY(profile["memory_mb"], parse_megabytes(words.memory, "--memory"));
  }
  if (!words.disk.empty()) {
    TRY(profile["disk_mb"], parse_megabytes(words.disk, "--disk"));
  }
  if (!words.pids.empty()) {
    TRY(profile["pids"], parse_count(words.pids, "--pids", 65'536));
  }
  if (!words.cpus.empty()) {
    double cpus = 0;
    const char* end = words.cpus.data() + words.cpus.size();
    const auto [last, error] = std::from_chars(words.cpus.data(), end, cpus);
    if (error != std::errc{} || last != end || !(cpus > 0)) {
      return fail_invalid("--cpus must be a number like 0.5 or 2");
    }
    profile["cpus"] = cpus;
  }
  json::array mounts;
  for (const std::string& word : words.mounts) {
    TRY(json::object mount, mount_of(word));
    mounts.push_back(std::move(mount));
  }
  if (!mounts.empty()) profile["mounts"] = std::move(mounts);
  if (!words.net.empty() || !words.net_deny.empty()) {
    TRY(const net::NetPolicy policy, wire::parse_net_words(words.net, words.net_deny));
    profile["net"] = wire::net_policy_json(policy);
  }
  return profile;
}

}  // namespace

Result<std::uint64_t> seconds_of(const std::string& text, std::string_view option) {
  auto time = parse_duration(text);
  if (!time) return fail(std::move(time.error()).context(option));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*time).count();
  if (seconds < 1) return fail_invalid(std::string(option) + " must be at least 1s");
  return static_cast<std::uint64_t>(seconds);
}

Result<std::string> new_sandbox_json(const NewSandboxWords& words) {
  json::object body;
  if (!words.template_name.empty() && !words.snapshot.empty()) {
    return fail_invalid("a sandbox is made of a template or of a snapshot: say one of the two");
  }
  if (!words.template_name.empty()) body["template"] = words.template_name;
  if (!words.snapshot.empty()) body["snapshot"] = words.snapshot;
  if (!words.ttl.empty()) {
    TRY(body["ttl_s"], seconds_of(words.ttl, "--ttl"));
  }
  if (!words.on_timeout.empty()) {
    if (words.on_timeout != "kill" && words.on_timeout != "pause") {
      return fail_invalid("--on-timeout must be kill or pause");
    }
    body["on_timeout"] = words.on_timeout;
  }
  if (!words.agent_id.empty()) body["agent_id"] = words.agent_id;
  if (!words.min_grade.empty()) body["min_grade"] = words.min_grade;
  if (words.private_ports) body["private_ports"] = true;
  TRY(json::object env, pairs_of(words.env, "--env"));
  if (!env.empty()) body["env"] = std::move(env);
  TRY(json::object metadata, pairs_of(words.metadata, "--metadata"));
  if (!metadata.empty()) body["metadata"] = std::move(metadata);
  TRY(json::object profile, sandbox_profile(words));
  if (words.packages.is_given()) {
    TRY(const Dependencies wanted, wire::read_dependency_words(words.packages));
    profile["dependencies"] = wire::dependencies_json(wanted);
    if (words.template_name.empty() && words.snapshot.empty()) {
      body["template"] = wire::default_template(wanted);
    }
  }
  if (!profile.empty()) body["profile"] = std::move(profile);
  return json::serialize(body);
}

}  // namespace glovebox::client
