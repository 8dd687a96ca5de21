// `glovebox gc`: ask the server to remove expired records now.
#include <cstdio>

#include <boost/json.hpp>

#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

namespace glovebox::client {

int gc_command(const std::vector<std::string>& args) {
  ServerLocationOptions server;
  bool as_json = false;
  const options::CommandLine command{
      .name = "glovebox gc",
      .usage = {"[OPTIONS]"},
      .description =
          "Remove records that are past their retention and return their disk space. The server "
          "also does this on its own.",
      .groups = {{"Options", {{"--json", "", "print the server's response", &as_json}}},
                 server_location_options(server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n"};
  options::Arguments arguments;
  if (const auto status = parse_arguments(command, args, arguments)) return *status;
  const CommandResponse response = send_and_report(server, post_request("/v1/gc"));
  if (response.status != 0) return response.status;
  if (as_json) {
    print(response.body);
    return 0;
  }
  const auto report = parse_response(response.body);
  if (!report) return failure(report.error());
  std::printf("removed %s runs and %s idempotent requests; the store had %s bytes and has %s\n",
              printable(field_text(*report, "runs_removed")).c_str(),
              printable(field_text(*report, "idempotent_entries_removed")).c_str(),
              printable(field_text(*report, "bytes_before")).c_str(),
              printable(field_text(*report, "bytes_after")).c_str());
  return 0;
}

}  // namespace glovebox::client
