#include "sessions/processes/user_environment.h"

#include "model/environment.h"

namespace glovebox::sessions {

std::string home_of(std::string_view user) {
  return user == "root" || user == "0" ? "/root" : "/home/user";
}

std::vector<std::string> environment_for(std::string_view user, std::vector<std::string> base,
                                         const std::vector<std::string>& more) {
  if (user == "root" || user == "0") {
    const std::vector<std::string> root = {"HOME=/root", "USER=root", "LOGNAME=root"};
    base = joined_environment(std::move(base), root);
    const std::string users = "PATH=" + std::string(kUsersPrograms) + ":";
    for (std::string& word : base) {
      if (word.starts_with(users)) word.erase(5, users.size() - 5);
    }
  }
  return joined_environment(std::move(base), more);
}

}  // namespace glovebox::sessions
