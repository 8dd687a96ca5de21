#include "wire/packages/package_options.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/unique_fd.h"
#include "base/utf8.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

Result<std::string> read_text_file(const std::string& path, const std::string& option) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(Error::from_errno(option + " " + path));
  std::string text;
  char part[65536];
  while (true) {
    const ssize_t got = ::read(fd.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno(option + " " + path));
    if (got == 0) break;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > kMaxRequirementsBytes) {
      return fail_invalid(option + " " + path + ": is larger than " +
                          std::to_string(kMaxRequirementsBytes / 1024) + " KB");
    }
  }
  if (!is_utf8(text)) return fail_invalid(option + " " + path + ": is not UTF-8");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail_invalid(option + " " + path + ": is empty");
  }
  return text;
}

json::array modules_of(const std::vector<std::string>& options) {
  json::array modules;
  for (const std::string& word : options) {
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      modules.emplace_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return modules;
}

}  // namespace

Result<Dependencies> read_package_options(const PackageOptions& options) {
  if (options.with.size() > kMaxDependencies) {
    return fail_invalid("--with: at most " + std::to_string(kMaxDependencies) +
                        " packages; more fit into --requirements FILE");
  }
  if (options.is_given() && !options.names_packages()) {
    return fail_invalid(std::string(options.preload.empty() ? "--host-packages" : "--preload") +
                        ": goes with --with, --requirements or --lock");
  }
  json::object object;
  json::array packages;
  for (const std::string& word : options.with) {
    const auto one = read_dependencies(json::array{json::value(to_utf8(word))}, "--with");
    if (!one) {
      const std::string& message = one.error().message();
      return fail_invalid("--with " + printable(word) +
                          message.substr(std::min(message.find(": "), message.size())));
    }
    packages.emplace_back(word);
  }
  object["packages"] = std::move(packages);
  if (!options.requirements.empty()) {
    TRY(object["requirements"], read_text_file(options.requirements, "--requirements"));
  }
  if (!options.lock.empty()) {
    TRY(object["lock"], read_text_file(options.lock, "--lock"));
  }
  object["preload"] = modules_of(options.preload);
  if (options.host_packages) object["host_packages"] = true;
  auto wanted = read_dependencies(object, "");
  if (!wanted) return fail_invalid("--" + wanted.error().message());
  return wanted;
}

std::string default_template(const Dependencies& dependencies) {
  // A pylock.toml does not begin so.
  return dependencies.lock.starts_with('{') ? "node" : "python";
}

}  // namespace glovebox::wire
