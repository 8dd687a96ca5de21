// The launcher's own policy file: an administrator's typing, but read by root.
#include <string>

#include "fuzz_target.h"
#include "launcher/policy/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto policy = launcher::parse_policy(text, "policy.toml");
  if (!policy) {
    fuzz::promise(policy.error().message().find("policy.toml") != std::string::npos,
                  "an error names the file");
    return 0;
  }
  fuzz::promise(policy->uid_first >= 65536, "no guest gets a uid of the host's own users");
  fuzz::promise(policy->uid_first % 65536 == 0, "slices are aligned");
  fuzz::promise(policy->uid_last > policy->uid_first, "there are slices");
  for (const std::string& source : policy->mount_sources) {
    fuzz::promise(!source.empty() && source[0] == '/', "a mount source is absolute");
  }
  // The same text means the same thing.
  const auto again = launcher::parse_policy(text, "policy.toml");
  fuzz::promise(again.has_value() && again->uid_first == policy->uid_first &&
                    again->max_memory_bytes == policy->max_memory_bytes &&
                    again->mount_sources == policy->mount_sources,
                "parsing has no memory");
  return 0;
}
