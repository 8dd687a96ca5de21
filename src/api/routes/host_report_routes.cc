#include "api/routes/host_report_routes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"
#include "base/wall_clock.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

// Some four hundred attacks are 100 KB.
constexpr std::size_t kMaxReport = std::size_t{1} << 20;

tl::unexpected<Error> unreadable(const char* why) {
  return fail(Errc::kInternal, std::string("the report of the attacks cannot be read: ") + why);
}

// Nothing: there is no report.
Result<std::optional<std::string>> read_report(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) return unreadable(std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > kMaxReport) {
    return unreadable("it is not a file, or a large one");
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t size = ::read(file.get(), text.data() + got, text.size() - got);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return unreadable("it was changed meanwhile");
    got += static_cast<std::size_t>(size);
  }
  return text;
}

Result<json::object> parse_object(std::string_view text, const char* what) {
  auto parsed = wire::parse_strict_json(text);
  if (!parsed || !parsed->is_object()) {
    return fail(Errc::kInternal, std::string(what) + " is malformed");
  }
  return std::move(parsed->as_object());
}

}  // namespace

std::span<const routing::RouteRow<HostReportRoutes>> HostReportRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<HostReportRoutes> kRows[] = {
      {Method::kGet, "/v1/doctor", Access::kAdmin, &HostReportRoutes::doctor,
       "Get what `glovebox doctor` finds on the server's host"},
      {Method::kGet, "/v1/attack-report", Access::kAdmin, &HostReportRoutes::attack_report,
       "Get the last report of `glovebox attack` on the server's host"},
  };
  return kRows;
}

Task<Response> HostReportRoutes::doctor(Request&, ResponseWriter&) {
  if (!deps_.doctor_report) {
    co_return fail(Errc::kUnavailable, "this server has no supervisor to examine the host");
  }
  CO_TRY(const std::string text, co_await deps_.doctor_report());
  CO_TRY(json::object report, parse_object(text, "doctor's report"));
  if (examined_ms_ == 0) examined_ms_ = wall_clock_ms();
  report["at"] = utc_text(examined_ms_);
  co_return Response::json(json::serialize(report) + "\n");
}

Task<Response> HostReportRoutes::attack_report(Request&, ResponseWriter&) {
  CO_TRY(const std::optional<std::string> text, read_report(deps_.attack_report));
  json::object body{{"report", nullptr}};
  if (text) {
    CO_TRY(json::object report, parse_object(*text, "the report of the attacks"));
    body["report"] = std::move(report);
  }
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
