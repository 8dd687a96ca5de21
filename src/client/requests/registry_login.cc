#include "client/requests/registry_login.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdlib>

#include "base/base64.h"
#include "base/unique_fd.h"
#include "base/utf8.h"
#include "base/write_all.h"
#include "client/output/response_fields.h"

extern char** environ;

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxFile = 4u << 20;
constexpr std::size_t kMaxHelperOutput = 64 * 1024;
constexpr std::string_view kDocker = "docker.io";
constexpr const char* kDockerKey = "https://index.docker.io/v1/";
constexpr std::string_view kNothingFound = "credentials not found";

// "https://index.docker.io/v1/" as "docker.io".
std::string plain_registry(std::string_view key) {
  if (const std::size_t scheme = key.find("://"); scheme != std::string_view::npos) {
    key.remove_prefix(scheme + 3);
  }
  key = key.substr(0, key.find('/'));
  if (key == "index.docker.io" || key == "registry-1.docker.io") key = kDocker;
  return std::string(key);
}

const json::object* object_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

bool is_helper_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

Result<RegistryLogin> login_of_helper(const std::string& name, const std::string& registry,
                                      const CredentialHelper& helper) {
  if (!is_helper_name(name)) return fail_invalid("names a credential helper that cannot be one");
  TRY(const auto text, helper(name, registry == kDocker ? kDockerKey : registry));
  RegistryLogin login;
  if (!text) return login;
  const auto answer = parse_response(*text);
  if (!answer) {
    return fail(Errc::kUnavailable, "docker-credential-" + name + " does not answer with JSON");
  }
  login.username = string_field(*answer, "Username");
  const std::string secret = string_field(*answer, "Secret");
  if (login.username == "<token>") {
    login.username.clear();
    login.identity_token = secret;
  } else {
    login.password = secret;
  }
  return login;
}

Result<RegistryLogin> login_of_entry(const json::object& entry) {
  RegistryLogin login;
  login.username = string_field(entry, "username");
  login.password = string_field(entry, "password");
  login.identity_token = string_field(entry, "identitytoken");
  login.registry_token = string_field(entry, "registrytoken");
  const std::string encoded = string_field(entry, "auth");
  if (encoded.empty()) return login;
  auto pair = base64_decode(encoded);
  // Some tools end the password with NULs.
  while (pair && pair->ends_with('\0')) pair->pop_back();
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return fail_invalid("has an \"auth\" that cannot be read");
  login.username = pair->substr(0, colon);
  login.password = pair->substr(colon + 1);
  return login;
}

Result<std::optional<std::string>> read_login_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file) return fail(Error::from_errno("open"));
  std::string text;
  char part[16384];
  while (true) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read"));
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > kMaxFile) return fail_invalid("is too large");
  }
}

std::vector<std::string> login_files() {
  std::vector<std::string> files;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string file = variable("REGISTRY_AUTH_FILE"); !file.empty()) return {file};
  if (const std::string directory = variable("DOCKER_CONFIG"); !directory.empty()) {
    files.push_back(directory + "/config.json");
  } else if (const std::string home = variable("HOME"); !home.empty()) {
    files.push_back(home + "/.docker/config.json");
  }
  if (const std::string runtime = variable("XDG_RUNTIME_DIR"); !runtime.empty()) {
    files.push_back(runtime + "/containers/auth.json");
  }
  return files;
}

}  // namespace

std::string registry_of_image(std::string_view image) {
  const std::size_t slash = image.find('/');
  const std::string_view first = image.substr(0, slash);
  const bool is_registry =
      slash != std::string_view::npos &&
      (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
  return std::string(is_registry ? first : kDocker);
}

Result<std::optional<std::string>> run_credential_helper(const std::string& name,
                                                         std::string input) {
  const std::string program = "docker-credential-" + name;
  int to[2];
  int from[2];
  if (::pipe2(to, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  UniqueFd its_input(to[0]);
  UniqueFd our_output(to[1]);
  if (::pipe2(from, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  const UniqueFd our_input(from[0]);
  UniqueFd its_output(from[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, its_input.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, its_output.get(), STDOUT_FILENO);
  char get[] = "get";
  std::string first = program;
  char* const argv[] = {first.data(), get, nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(Error::from_errno("start " + program, error));
  its_input.reset();
  its_output.reset();
  input += '\n';
  (void)write_all(our_output.get(), input);
  our_output.reset();
  std::string output;
  char part[4096];
  while (true) {
    const ssize_t got = ::read(our_input.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (output.size() < kMaxHelperOutput) output.append(part, static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  if (output.find(kNothingFound) != std::string::npos) return std::nullopt;
  // It writes its error there, and no secret.
  return fail(Errc::kUnavailable, program + " failed: " + printable(output.substr(0, 300)));
}

Result<RegistryLogin> login_in_file(std::string_view text, const std::string& registry,
                                    const CredentialHelper& helper) {
  const auto file = parse_response(text);
  if (!file) return fail_invalid("is not a JSON object");
  std::string name = string_field(*file, "credsStore");
  if (const json::object* helpers = object_in(*file, "credHelpers")) {
    for (const auto& [key, value] : *helpers) {
      if (plain_registry(key) == registry && value.is_string()) name = value.get_string();
    }
  }
  if (!name.empty()) {
    TRY(RegistryLogin login, login_of_helper(name, registry, helper));
    if (!login.empty()) return login;
  }
  const json::object* auths = object_in(*file, "auths");
  if (auths == nullptr) return RegistryLogin{};
  for (const auto& [key, value] : *auths) {
    if (plain_registry(key) != registry || !value.is_object()) continue;
    TRY(RegistryLogin login, login_of_entry(value.get_object()));
    if (!login.empty()) return login;
  }
  return RegistryLogin{};
}

Result<RegistryLogin> find_registry_login(const std::string& registry) {
  for (const std::string& path : login_files()) {
    auto text = read_login_file(path);
    if (!text) return fail(std::move(text.error()).context(path));
    if (!*text) continue;
    auto login = login_in_file(**text, registry, run_credential_helper);
    if (!login) return fail(std::move(login.error()).context(path));
    if (!login->empty()) return login;
  }
  return RegistryLogin{};
}

}  // namespace glovebox::client
