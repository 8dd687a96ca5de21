// What a build prints, as it may be shown: whole lines, printable, without secrets, none longer and
// no more of them than anybody can read. All of it is a stranger's.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::packages {

// One line for people: control characters and what is not UTF-8 are shown as "\xNN", characters
// that turn the text around as "\uNNNN", tabs are spaces, at most `most` bytes, and none of
// `secrets` is in it.
std::string printable_line(std::string_view line, std::size_t most,
                       const std::vector<std::string>& secrets);
// The same for a few lines.
std::string printable_text(std::string_view text, std::size_t most,
                       const std::vector<std::string>& secrets);

class BuildOutput {
 public:
  static constexpr std::size_t kMostLine = 400;     // bytes of one
  static constexpr std::size_t kAtOnce = 200;       // lines, before any is left out
  static constexpr std::size_t kPerSecond = 50;     // from then on
  static constexpr std::size_t kMostLines = 5'000;  // of one program
  static constexpr std::size_t kTail = 20;          // the last ones, for an error

  using Say = std::function<void(std::string line)>;
  using Clock = std::chrono::steady_clock;
  BuildOutput(Say say, std::vector<std::string> secrets,
             std::function<Clock::time_point()> now = &Clock::now);

  enum class From : std::size_t { kOut = 0, kErr = 1 };
  void add(From from, std::string_view bytes);
  // What has no end of line yet.
  void finish();
  std::string tail() const;  // the last lines, one below the other

 private:
  void line(std::string_view text);
  bool may_say();

  Say say_;
  std::vector<std::string> secrets_;
  std::function<Clock::time_point()> now_;
  std::string begun_[2];  // bounded: what is too long to be shown is not kept
  std::deque<std::string> tail_;
  double room_ = static_cast<double>(kAtOnce);
  Clock::time_point filled_at_;
  std::size_t said_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace glovebox::packages
