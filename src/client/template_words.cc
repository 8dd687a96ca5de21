#include "client/template_words.h"

#include <boost/json.hpp>
#include <charconv>

#include "base/units.h"
#include "client/words.h"
#include "wire/dependencies_json.h"
#include "wire/dependency_words.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

Result<json::array> modules_of(const std::vector<std::string>& words) {
  json::array modules;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      if (end == begin)
        return fail_invalid("--preload must be names of modules with commas between them");
      modules.emplace_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return modules;
}

Result<json::object> variables_of(const std::vector<std::string>& words) {
  json::object env;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail_invalid("--env must be NAME=VALUE, not '" + word + "'");
    }
    env[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return env;
}

// Of --preload every module is the template's.
Result<Dependencies> packages_of(const NewTemplateWords& words) {
  if (!words.names_packages()) return Dependencies{};
  return wire::read_dependency_words(
      {.with = words.with, .requirements = words.requirements, .lock = words.lock, .preload = {}});
}

Result<json::object> template_profile(const NewTemplateWords& words, const Dependencies& packages) {
  json::object profile;
  if (!words.timeout.empty()) {
    auto time = parse_duration(words.timeout);
    if (!time) return fail(std::move(time.error()).context("--timeout"));
    profile["timeout_ms"] = time->count();
  }
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
  if (!packages.empty()) profile["dependencies"] = wire::dependencies_json(packages);
  return profile;
}

}  // namespace

Result<std::string> new_template_json(const std::string& name, const NewTemplateWords& words) {
  if (!words.snapshot.empty()) {
    if (!words.from.empty() || words.changes_something()) {
      return fail_invalid(
          "--snapshot goes alone, or with --description: it has everything else already");
    }
    json::object body{{"name", name}, {"snapshot", words.snapshot}};
    if (!words.description.empty()) body["description"] = words.description;
    return json::serialize(body);
  }
  TRY(const Dependencies packages, packages_of(words));
  const std::string from =
      words.from.empty() && !packages.empty() ? wire::default_template(packages) : words.from;
  if (from.empty()) {
    return fail_invalid("--from BASE is missing: the template it is made of (or --snapshot ID)");
  }
  json::object body{{"name", name}, {"from", from}};
  if (!words.description.empty()) body["description"] = words.description;
  TRY(json::array preload, modules_of(words.preload));
  if (!preload.empty()) body["preload"] = std::move(preload);
  TRY(json::object env, variables_of(words.env));
  if (!env.empty()) body["env"] = std::move(env);
  TRY(json::object profile, template_profile(words, packages));
  if (!profile.empty()) body["profile"] = std::move(profile);
  return json::serialize(body);
}

}  // namespace glovebox::client
