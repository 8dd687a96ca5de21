#include "client/requests/template_options.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <string_view>

#include "base/units.h"
#include "wire/packages/dependencies_json.h"
#include "wire/packages/package_options.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

tl::unexpected<Error> invalid_template_option(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

Result<json::array> modules_json(const std::vector<std::string>& words) {
  json::array modules;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      if (end == begin) {
        return invalid_template_option("--preload must be module names separated by commas, not '" +
                                       word + "'");
      }
      modules.emplace_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return modules;
}

// Without --preload: its modules belong to the template itself, not to the packages.
Result<Dependencies> template_packages(const NewTemplateOptions& made) {
  wire::PackageOptions packages = made.packages;
  packages.preload.clear();
  if (!packages.is_given()) return Dependencies{};
  return wire::read_package_options(packages);
}

Result<json::object> template_profile_json(const NewTemplateOptions& made,
                                           const Dependencies& packages) {
  json::object profile;
  if (!made.timeout.empty()) {
    auto time = parse_duration(made.timeout);
    if (!time) return fail(std::move(time.error()).context("--timeout"));
    profile["timeout_ms"] = time->count();
  }
  TRY_OK(add_limits(made.limits, profile));
  if (!packages.empty()) profile["dependencies"] = wire::dependencies_json(packages);
  if (!made.image.empty()) profile["image"] = made.image;
  return profile;
}

// "2": always two; "2-8": at least two, up to eight with demand.
Result<json::object> pool_json(const std::string& text, const char* option) {
  const std::size_t dash = text.find('-');
  std::uint64_t bounds[2] = {0, 0};
  const std::string_view words[2] = {
      std::string_view(text).substr(0, dash),
      dash == std::string::npos ? std::string_view(text) : std::string_view(text).substr(dash + 1)};
  for (int i = 0; i < 2; ++i) {
    const auto [end, ec] =
        std::from_chars(words[i].data(), words[i].data() + words[i].size(), bounds[i]);
    if (ec != std::errc{} || end != words[i].data() + words[i].size()) {
      return invalid_template_option(std::string(option) + " must be like 2 or 2-8, not '" + text +
                                     "'");
    }
  }
  return json::object{{"min", bounds[0]}, {"max", bounds[1]}};
}

}  // namespace

Result<std::string> new_template_json(const std::string& name, const NewTemplateOptions& made) {
  if (!made.snapshot.empty()) {
    if (!made.from.empty() || !made.image.empty() || made.changes_base()) {
      return invalid_template_option(
          "--snapshot cannot be combined with other options than --description");
    }
    json::object body{{"name", name}, {"snapshot", made.snapshot}};
    if (!made.description.empty()) body["description"] = made.description;
    return json::serialize(body);
  }
  TRY(const Dependencies packages, template_packages(made));
  const std::string from =
      made.from.empty() && !packages.empty() ? wire::default_template(packages) : made.from;
  if (from.empty() && made.image.empty()) {
    return invalid_template_option("--from BASE is missing (or --image NAME, or --snapshot ID)");
  }
  json::object body{{"name", name}};
  if (!from.empty()) body["from"] = from;
  if (!made.description.empty()) body["description"] = made.description;
  TRY(json::array preload, modules_json(made.packages.preload));
  if (!preload.empty()) body["preload"] = std::move(preload);
  TRY(json::object env, named_values_json(made.env, "--env"));
  if (!env.empty()) body["env"] = std::move(env);
  TRY(json::object profile, template_profile_json(made, packages));
  if (!profile.empty()) body["profile"] = std::move(profile);
  if (!made.pool.empty()) {
    TRY(body["pool"], pool_json(made.pool, "--pool"));
  }
  if (!made.session_pool.empty()) {
    TRY(body["session_pool"], pool_json(made.session_pool, "--session-pool"));
  }
  return json::serialize(body);
}

}  // namespace glovebox::client
