// /console/session, /console/links and /console/tickets: signing in to the console, and what its
// pages need to act for the key that signed in. See signin/browser_sessions.h for what a cookie is
// worth.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "signin/attempts.h"
#include "signin/browser_sessions.h"
#include "store/store.h"

namespace glovebox::api {

struct ConsoleSettings {
  std::chrono::seconds session_ttl{std::chrono::hours(12)};
  bool keeps_code = false;  // store.keep_code
};

class ConsoleSessionRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    signin::BrowserSessions& browsers;
    signin::Attempts& attempts;
    store::Store& store;
    const ConsoleSettings& settings;
    const std::string& version;
    const std::string& domain;
  };
  explicit ConsoleSessionRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ConsoleSessionRoutes>> rows();

  Task<http::Response> sign_in(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> show_session(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> sign_out(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> create_link(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> create_ticket(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
