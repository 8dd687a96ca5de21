#include "supervisor/control_channel.h"

#include <fcntl.h>

#include <boost/json.hpp>

#include "base/fd_message.h"
#include "supervisor/data_dir.h"
#include "supervisor/process.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::supervisor {
namespace {

namespace json = boost::json;
constexpr std::size_t kMaxBytes = 4096;

Result<ServerReady> parse_ready(std::string_view text) {
  boost::system::error_code error;
  const json::value parsed = json::parse(json::string_view(text.data(), text.size()), error);
  const json::object* object = error ? nullptr : parsed.if_object();
  const json::value* url = object != nullptr ? object->if_contains("url") : nullptr;
  if (url == nullptr || !url->is_string() || !is_plain_url(std::string(url->get_string()))) {
    return fail(Errc::kProtocol, "the server reported a malformed url");
  }
  return ServerReady{std::string(url->get_string())};
}

}  // namespace

Result<FromServer> receive_from_server(int channel) {
  TRY(const Received received, receive_message(channel, kMaxBytes, 0));
  if (received.bytes.empty()) return ChannelClosed{};
  const std::string_view text(reinterpret_cast<const char*>(received.bytes.data()),
                              received.bytes.size());
  if (text == "N") return NeedsLauncher{};
  if (text == "M") return NeedsGateway{};
  if (text == "D") return WantsDoctor{};
  if (text[0] != 'R') return fail(Errc::kProtocol, "the server sent an unknown message");
  TRY(ServerReady ready, parse_ready(text.substr(1)));
  return ready;
}

Result<> pass_launcher_connection(const std::string& launcher_socket, int channel) {
  const auto launcher = connect_to(launcher_socket);
  if (!launcher) return fail(Errc::kUnavailable, launcher.error().message());
  TRY_OK(send_message(launcher->get(), wire::encode(wire::LauncherRequest(wire::BecomeServer{}))));
  const int fds[] = {launcher->get()};
  const std::byte kind[] = {std::byte{'L'}};
  return send_message(channel, kind, fds);
}

Result<> pass_gateway_connection(const std::string& gateway_socket, int channel) {
  const auto gateway = connect_to(gateway_socket);
  if (!gateway) return fail(Errc::kUnavailable, gateway.error().message());
  const int fds[] = {gateway->get()};
  const std::byte kind[] = {std::byte{'G'}};
  return send_message(channel, kind, fds);
}

Result<> pass_doctor_report(int pipe, int channel) {
  const int fds[] = {pipe};
  const std::byte kind[] = {std::byte{'D'}};
  return send_message(channel, kind, fds);
}

}  // namespace glovebox::supervisor
