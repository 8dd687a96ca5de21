// GET /v1/doctor and GET /v1/attack-report: what `glovebox doctor` finds on this host, and the last
// report of `glovebox attack`. The server itself can do neither: its supervisor runs doctor, once
// and only when a client asks; the attacks are never started from here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/task.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::api {

class HostReportRoutes {
 public:
  using DoctorReport = std::function<Task<std::string>()>;
  // All are borrowed and outlive this.
  struct Dependencies {
    const DoctorReport& doctor_report;
    const std::string& attack_report;  // the path of the file; empty: there is none
  };
  explicit HostReportRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<HostReportRoutes>> rows();

  Task<http::Response> doctor(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> attack_report(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
  std::int64_t examined_ms_ = 0;  // when the report that is shown came
};

}  // namespace glovebox::api
