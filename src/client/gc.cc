// `glovebox gc`: tells the server to remove now what is past its retention.
#include <cstdio>

#include <boost/json.hpp>

#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/print.h"

namespace glovebox::client {
namespace {

constexpr const char* kGcUsage =
    "usage: glovebox gc [OPTIONS]\n"
    "\n"
    "Removes what is past its retention now, and gives the disk its space back. The server does "
    "so\n"
    "by itself, too.\n"
    "\n";
constexpr const char* kGcHelp =
    "  --json                 print the server's answer\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 done, 1 the server said no, 2 bad usage, 125 no server answers.\n";

}  // namespace

int gc_command(const std::vector<std::string>& args) {
  PlaceWords place;
  bool is_json = false;
  bool help = false;
  std::vector<Option> options = place_options(place);
  options.insert(options.end(), {{"--json", &is_json}, {"--help", &help}, {"-h", &help}});
  const auto rest = take_options(args, options, "gc");
  if (!rest) return usage_error(rest.error().message());
  if (help) {
    std::printf("%s%s%s", kGcUsage, kPlaceHelp, kGcHelp);
    return 0;
  }
  if (!rest->empty()) return usage_error("`glovebox gc` takes no words; see `glovebox gc --help`");
  http::ClientRequest request;
  request.method = http::Method::kPost;
  request.target = "/v1/gc";
  const Asked asked = ask(place, std::move(request));
  if (asked.status != 0) return asked.status;
  if (is_json) {
    std::fwrite(asked.body.data(), 1, asked.body.size(), stdout);
    return 0;
  }
  const auto report = parse_answer(asked.body);
  if (!report) return failure(report.error());
  std::printf("removed %s runs and %s idempotent requests; the store had %s bytes and has %s\n",
              printable(shown(*report, "runs_removed")).c_str(),
              printable(shown(*report, "idempotent_entries_removed")).c_str(),
              printable(shown(*report, "bytes_before")).c_str(),
              printable(shown(*report, "bytes_after")).c_str());
  return 0;
}

}  // namespace glovebox::client
