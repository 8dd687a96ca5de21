// The part of DNS that a resolver for sandboxes needs: one question in, addresses out, both parsed
// strictly, because neither guests nor resolvers are trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/host_name.h"

namespace glovebox::net {

inline constexpr std::size_t kMaxDnsQuery = 512;
inline constexpr std::size_t kMaxDnsAnswer = 4096;

enum class DnsType : std::uint16_t { kA = 1, kCname = 5, kAaaa = 28 };
enum class DnsCode : std::uint8_t {
  kNoError = 0,
  kFormErr = 1,
  kServFail = 2,
  kNxDomain = 3,
  kNotImp = 4,
  kRefused = 5,
};

// What a guest asks. Exactly one question of class IN, no other records but one OPT; the name is
// one that HostName takes.
struct DnsQuery {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  HostName name;
  std::uint16_t type = 0;       // as asked; only A and AAAA are answered with something
  std::uint16_t payload = 512;  // what the asker can take, from its OPT: 512 to 1232
  bool has_opt = false;
  std::string asked_name;  // the question's bytes as they came: letters keep their case in answers
};
// kInvalidArgument with `id` unknown: not even a header; nothing is answered then. Otherwise the
// error answer to give.
struct DnsRejected {
  std::optional<std::vector<std::byte>> answer;
  std::string why;
};
tl::expected<DnsQuery, DnsRejected> read_query(std::span<const std::byte> bytes);

// An answer for a guest. `why`, if not empty, goes into an extended error (RFC 8914, code 18,
// Prohibited) where the query has an OPT. Addresses of another family than asked are left out; what
// does not fit the asker's payload is left out and TC is set.
std::vector<std::byte> write_answer(const DnsQuery& query, DnsCode code,
                                    std::span<const IpAddress> addresses, std::uint32_t ttl_s,
                                    std::string_view why = {});

// A question for the host's resolver.
std::vector<std::byte> write_question(std::uint16_t id, const HostName& name, DnsType type);

struct DnsAnswer {
  DnsCode code = DnsCode::kNoError;
  bool truncated = false;
  std::vector<IpAddress> addresses;  // at the end of the chain of aliases that begins at the name
  std::vector<HostName> aliases;     // the names of that chain, without the first
  std::uint32_t ttl_s = 0;           // the least on the way
};
// Only an answer to exactly this question (id, name, type, class): another is kNotFound, and one
// that makes no sense kProtocol. Compression pointers go backwards only, chains have at most 16
// links, at most 64 addresses are taken.
Result<DnsAnswer> read_answer(std::span<const std::byte> bytes, std::uint16_t id,
                              const HostName& name, DnsType type);

}  // namespace glovebox::net
