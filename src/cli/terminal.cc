#include "cli/terminal.h"

#include <sys/ioctl.h>

namespace glovebox::cli {

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  if (::tcgetattr(fd_, &before_) != 0) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw_ = ::tcsetattr(fd_, TCSANOW, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (raw_) ::tcsetattr(fd_, TCSANOW, &before_);
}

TerminalSize terminal_size(int fd) {
  winsize window{};
  if (::ioctl(fd, TIOCGWINSZ, &window) != 0 || window.ws_row == 0) return {};
  return {window.ws_row, window.ws_col};
}

}  // namespace glovebox::cli
