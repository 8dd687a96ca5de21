#include "probe/own_user.h"

#include <unistd.h>

#include <string_view>
#include <vector>

#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

// /etc/passwd is read by hand: NSS in a static program would load libraries.
std::string own_passwd_field(std::size_t field) {
  const std::string passwd = read_text("/etc/passwd").value_or("");
  const std::string uid = std::to_string(::geteuid());
  for (const std::string_view line : split(passwd, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == uid) {
      return field < fields.size() ? std::string(fields[field]) : std::string();
    }
  }
  return {};
}

}  // namespace

std::string own_user_name() { return own_passwd_field(0); }

std::string own_user_home() { return own_passwd_field(5); }

std::string own_user_name_or_id() {
  std::string name = own_user_name();
  return name.empty() ? std::to_string(::geteuid()) : name;
}

}  // namespace glovebox::probe
