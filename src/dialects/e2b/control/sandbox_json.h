// Sandboxes as E2B's control plane shows them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "dialects/e2b/access_tokens.h"
#include "dialects/e2b/settings.h"
#include "http/message.h"
#include "store/session_record.h"

namespace glovebox::e2b {

// The version of E2B's agent whose features are served; clients enable their features by it.
inline constexpr std::string_view kEnvdVersion = "0.6.13";

class SandboxJson {
 public:
  // Both are borrowed and outlive this.
  SandboxJson(const AccessTokens& tokens, const Settings& settings)
      : tokens_(tokens), settings_(settings) {}

  // The answer to create, connect, resume and fork, with the tokens.
  boost::json::object with_tokens(const http::Request& request,
                                  const store::SessionRecord& record) const;
  // One entry of a listing.
  static boost::json::object listed(const store::SessionRecord& record);
  // The same with network, lifecycle and access token.
  boost::json::object detailed(const http::Request& request,
                               const store::SessionRecord& record) const;

 private:
  boost::json::value domain_of(const http::Request& request) const;

  const AccessTokens& tokens_;
  const Settings& settings_;
};

// Whole CPUs, rounded up.
std::uint32_t cpu_count(const Limits& limits);

}  // namespace glovebox::e2b
