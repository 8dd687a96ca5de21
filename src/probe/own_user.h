// The user who runs this program, for commands that a person pastes.
#pragma once

#include <string>

namespace glovebox::probe {

// From /etc/passwd; empty if that does not have the user.
std::string own_user_name();

// The home directory that /etc/passwd has for the user; empty if it has none.
std::string own_user_home();

// The name, else the uid, which chown and loginctl take as well.
std::string own_user_name_or_id();

}  // namespace glovebox::probe
