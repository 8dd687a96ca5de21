// Messages of the Model Context Protocol as far as a relay reads them: id, method and kind. Lines
// and server-sent events are assembled from pieces.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::client {

struct RpcMessage {
  boost::json::value id = nullptr;  // null: a notification, or an invalid id
  std::string method{};             // empty: a response
  bool is_response = false;
  std::string cancels{};  // of notifications/cancelled: the id of the call, as JSON
};
// None: not a JSON object.
std::optional<RpcMessage> read_rpc(std::string_view text);
bool is_json(std::string_view text);

// The error body of an HTTP response, in the form of JSON-RPC or of our API.
struct RpcErrorReply {
  int code = 0;  // of JSON-RPC; 0: none
  std::string message{};
};
RpcErrorReply read_error_reply(std::string_view body);

// The same initialize message, marked as following a session whose state was lost.
std::string initialize_after_loss(std::string_view initialize);
// The same, with packages and a network policy for the session's sandboxes.
std::string initialize_with_sandbox(std::string_view initialize,
                                    const boost::json::object& sandbox);

// {"jsonrpc":"2.0","id":...,"error":{...}}, one line.
std::string rpc_error(const boost::json::value& id, int code, std::string_view message);
// The same JSON without line breaks; none: not a JSON object.
std::optional<std::string> on_one_line(std::string_view text);

// Splits standard input into lines. A line that is too long becomes an empty optional.
class InputLines {
 public:
  explicit InputLines(std::size_t max_line) : max_line_(max_line) {}
  std::vector<std::optional<std::string>> add(std::string_view bytes);

 private:
  std::size_t max_line_;
  std::string line_;
  bool is_too_long_ = false;
};

// Extracts the `data` of complete server-sent events.
class EventReader {
 public:
  explicit EventReader(std::size_t max_event) : max_event_(max_event) {}
  // False: the event is too long.
  bool add(std::string_view bytes, std::vector<std::string>& events);

 private:
  void take_line(std::vector<std::string>& events);

  std::size_t max_event_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace glovebox::client
