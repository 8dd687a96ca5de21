#include "wire/dependency_words.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/unique_fd.h"
#include "wire/dependencies_json.h"
#include "wire/utf8.h"

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

json::array modules_of(const std::vector<std::string>& words) {
  json::array modules;
  for (const std::string& word : words) {
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

Result<Dependencies> read_dependency_words(const DependencyWords& words) {
  if (words.with.size() > kMaxDependencies) {
    return fail_invalid("--with: at most " + std::to_string(kMaxDependencies) +
                        " packages; more fit into --requirements FILE");
  }
  if (words.is_given() && !words.names_packages()) {
    return fail_invalid("--preload: goes with --with, --requirements or --lock");
  }
  json::object object;
  json::array packages;
  for (const std::string& word : words.with) {
    const auto one = read_dependencies(json::array{json::value(to_utf8(word))}, "--with");
    if (!one) {
      const std::string& message = one.error().message();
      return fail_invalid("--with " + printable(word) +
                          message.substr(std::min(message.find(": "), message.size())));
    }
    packages.emplace_back(word);
  }
  object["packages"] = std::move(packages);
  if (!words.requirements.empty()) {
    TRY(object["requirements"], read_text_file(words.requirements, "--requirements"));
  }
  if (!words.lock.empty()) {
    TRY(object["lock"], read_text_file(words.lock, "--lock"));
  }
  object["preload"] = modules_of(words.preload);
  auto wanted = read_dependencies(object, "");
  if (!wanted) return fail_invalid("--" + wanted.error().message());
  return wanted;
}

std::string default_template(const Dependencies& dependencies) {
  // A pylock.toml does not begin so.
  return dependencies.lock.starts_with('{') ? "node" : "python";
}

}  // namespace glovebox::wire
