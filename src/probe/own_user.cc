#include "probe/own_user.h"

#include <unistd.h>

#include <string_view>
#include <vector>

#include "probe/kernel_text.h"

namespace glovebox::probe {

// /etc/passwd is read by hand: NSS in a static program would load libraries.
std::string own_user_name() {
  const std::string passwd = read_text("/etc/passwd").value_or("");
  const std::string uid = std::to_string(::geteuid());
  for (const std::string_view line : split(passwd, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == uid) return std::string(fields[0]);
  }
  return {};
}

std::string own_user_name_or_id() {
  std::string name = own_user_name();
  return name.empty() ? std::to_string(::geteuid()) : name;
}

}  // namespace glovebox::probe
