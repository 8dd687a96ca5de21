// The body of POST /v1/run: untrusted, from any client with a key.
#include <algorithm>
#include <set>
#include <string>

#include "fuzz_target.h"
#include "wire/runs/run_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto request = wire::parse_run_request(body);
  if (!request) {
    fuzz::promise(request.error().code() == Errc::kInvalidArgument, "it is the caller's mistake");
    fuzz::promise(!request.error().message().empty(), "and is told");
    return 0;
  }
  fuzz::promise(request->code.has_value() == request->command.empty() ||
                    (!request->code && !request->profile.image.empty()),
                "code or command, or what an image says");
  fuzz::promise(!request->code || !request->language.empty() || !request->template_name.empty(),
                "code says what it is");
  for (const auto& file : request->files) {
    fuzz::promise(file.path.str()[0] == '/', "a path is absolute");
    fuzz::promise(file.mode <= 0777, "no setuid files");
  }
  std::set<std::string> names;
  for (const std::string& variable : request->env) {
    fuzz::promise(variable.find('\0') == std::string::npos, "no NUL in a variable");
    fuzz::promise(names.insert(variable.substr(0, variable.find('='))).second, "no name twice");
  }
  const ProfileRequest& profile = request->profile;
  fuzz::promise(!profile.memory_bytes || *profile.memory_bytes >= 8u << 20, "limits are in bounds");
  fuzz::promise(!profile.cpu_thousandths || *profile.cpu_thousandths >= 10, "limits are in bounds");
  const Dependencies& packages = profile.dependencies;
  for (const std::string& word : packages.packages) {
    fuzz::promise(!word.empty() && word[0] != '-' && word.find('\n') == std::string::npos,
                  "a package is no option");
  }
  fuzz::promise(std::is_sorted(packages.packages.begin(), packages.packages.end()), "in order");
  fuzz::promise(
      packages.lock.empty() || (packages.packages.empty() && packages.requirements.empty()),
      "a lock stands alone");
  // The order of mounts is no part of a profile.
  ProfileRequest other = profile;
  std::reverse(other.mounts.begin(), other.mounts.end());
  fuzz::promise(
      canonical_text(fill_in(profile, Limits{})) == canonical_text(fill_in(other, Limits{})),
      "one profile, one text");
  const auto again = wire::parse_run_request(body);
  fuzz::promise(again.has_value() && *again == *request, "parsing has no memory");
  return 0;
}
