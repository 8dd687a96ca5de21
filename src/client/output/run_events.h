// The streamed response of POST /v1/run: lines of JSON that arrive in pieces. Output is passed on
// as it arrives; the last line has the result. POST /v1/layers and POST /v1/images/pull respond in
// the same form.
#pragma once

#include <boost/json/fwd.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection/api_client.h"

namespace glovebox::client {

class RunEvents {
 public:
  // Returns false when the output cannot be written any more.
  using OnOutput = std::function<bool(bool is_stderr, std::string_view bytes)>;
  // Progress of the packages that are installed before the run, or of an image.
  using OnBuild = std::function<void(std::string_view phase, std::string_view text)>;
  explicit RunEvents(OnOutput on_output, OnBuild on_build = {});
  ~RunEvents();

  // Sends the request and reads the whole stream. kProtocol: it is malformed. An error status of
  // the server is a value: see ApiClient::error_in.
  Result<http::ClientResponse> read_from(ApiClient& api, http::ClientRequest request);

  // One piece of the stream. False: OnOutput returned false. kProtocol: not an event.
  Result<bool> add(std::string_view piece);

  // The error code behind a failed take_result(); empty if the server sent none.
  const std::string& failure_code() const;

  // After the last piece: the result without the output, or why the run failed.
  Result<boost::json::object> take_result();
  // The same as JSON text. Call only one of the two, once.
  Result<std::string> take_result_json();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace glovebox::client
