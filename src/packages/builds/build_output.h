// Makes the untrusted output of a build fit to show: whole printable lines without secrets, limited
// in length and number.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::packages {

// One printable line of at most `most` bytes: control characters and invalid UTF-8 become "\xNN",
// characters that change the text direction become "\uNNNN", tabs become spaces, and `secrets` are
// hidden.
std::string printable_line(std::string_view line, std::size_t most,
                           const std::vector<std::string>& secrets);
// The same for several lines.
std::string printable_text(std::string_view text, std::size_t most,
                           const std::vector<std::string>& secrets);

class BuildOutput {
 public:
  static constexpr std::size_t kMostLine = 400;     // bytes per line
  static constexpr std::size_t kAtOnce = 200;       // lines in a burst
  static constexpr std::size_t kPerSecond = 50;     // lines after the burst
  static constexpr std::size_t kMostLines = 5'000;  // of one program
  static constexpr std::size_t kTail = 20;          // last lines, for an error

  using OnLine = std::function<void(std::string line)>;
  using Clock = std::chrono::steady_clock;
  BuildOutput(OnLine on_line, std::vector<std::string> secrets,
              std::function<Clock::time_point()> now = &Clock::now);

  enum class From : std::size_t { kOut = 0, kErr = 1 };
  void add(From from, std::string_view bytes);
  // Adds the last line if it has no line break.
  void finish();
  std::string tail() const;  // the last lines, separated by line breaks

 private:
  void line(std::string_view text);
  bool may_show();

  OnLine on_line_;
  std::vector<std::string> secrets_;
  std::function<Clock::time_point()> now_;
  std::string begun_[2];  // incomplete lines; what is too long to show is dropped
  std::deque<std::string> tail_;
  double room_ = static_cast<double>(kAtOnce);
  Clock::time_point filled_at_;
  std::size_t shown_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace glovebox::packages
