// Messages of the Model Context Protocol as a relay sees them: whose they are, and no more. Lines
// and events are cut out of what arrives in pieces.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::client {

struct RpcMessage {
  boost::json::value id = nullptr;  // null: a notification, or nothing that can be answered
  std::string method{};             // empty: a response
  bool is_response = false;
  std::string cancels{};  // of notifications/cancelled: whose call, as JSON
};
// Nothing: it is no message at all.
std::optional<RpcMessage> read_rpc(std::string_view text);
bool is_json(std::string_view text);

// What a server said against a message: {"error":{"message"}}, in JSON-RPC's form or in ours.
struct RpcRefusal {
  int code = 0;  // of JSON-RPC; 0: it was none of that
  std::string message{};
};
RpcRefusal read_refusal(std::string_view body);

// The same initialize, which also says that the conversation before was lost after tools were used.
std::string resuming(std::string_view initialize);

// {"jsonrpc":"2.0","id":...,"error":{...}}, one line.
std::string rpc_error(const boost::json::value& id, int code, std::string_view message);
// The same JSON without a line break; nothing: it is no JSON object.
std::optional<std::string> on_one_line(std::string_view text);

// Lines of standard input. One that is too long is given as an empty optional.
class InputLines {
 public:
  explicit InputLines(std::size_t max_line) : max_line_(max_line) {}
  std::vector<std::optional<std::string>> add(std::string_view bytes);

 private:
  std::size_t max_line_;
  std::string line_;
  bool is_too_long_ = false;
};

// The `data` of server-sent events, whole ones.
class EventReader {
 public:
  explicit EventReader(std::size_t max_event) : max_event_(max_event) {}
  // False: this is too long.
  bool add(std::string_view bytes, std::vector<std::string>& events);

 private:
  void take_line(std::vector<std::string>& events);

  std::size_t max_event_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace glovebox::client
