// The live answer of POST /v1/run: lines of JSON that arrive in pieces. Output goes out as it
// comes; the last line says how it ended. That of POST /v1/layers has the same form.
#pragma once

#include <boost/json/fwd.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::client {

class RunEvents {
 public:
  // False: nobody takes it any more.
  using OnOutput = std::function<bool(bool is_stderr, std::string_view bytes)>;
  // Of packages that are installed before it runs.
  using OnBuild = std::function<void(std::string_view phase, std::string_view text)>;
  explicit RunEvents(OnOutput on_output, OnBuild on_build = {});
  ~RunEvents();

  // False: no more is wanted. What is no event of ours is an error.
  Result<bool> add(std::string_view piece);

  // The code of the failure that take_end() tells; empty when the server did not say.
  const std::string& failure_code() const;

  // After the last piece: the whole answer without the output, or why the run failed.
  Result<boost::json::object> take_end();
  // The same as it was written. Only one of the two can be had.
  Result<std::string> take_end_text();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace glovebox::client
