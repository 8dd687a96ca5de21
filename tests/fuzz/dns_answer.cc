// Answers of resolvers, which an attacker may have forged. The question is the input's own where
// it has one, so that there is something to answer; the rest is as it comes.
#include <set>

#include "fuzz_target.h"
#include "net/dns_message.h"

namespace {

using namespace glovebox;

void check(std::span<const std::byte> bytes, std::uint16_t id, const net::HostName& name,
           net::DnsType type) {
  fuzz::reset_allocated();
  const auto answer = net::read_answer(bytes, id, name, type);
  // A record's name may be two bytes that stand for 253, but only names on the way are made.
  fuzz::promise(fuzz::allocated() <= 256 * 1024 + 16 * bytes.size(),
                "what it allocates is bounded");
  if (!answer) {
    fuzz::promise(answer.error().message().size() < 100, "what is said is bounded");
    return;
  }
  fuzz::promise(bytes.size() <= net::kMaxDnsAnswer, "an answer is bounded");
  fuzz::promise(answer->addresses.size() <= 64 && answer->aliases.size() <= 16, "and its parts");
  const bool says_no = answer->truncated || answer->code != net::DnsCode::kNoError;
  fuzz::promise(!says_no || (answer->addresses.empty() && answer->aliases.empty()),
                "a cut or failed answer has no addresses");
  const std::set<net::IpAddress> distinct(answer->addresses.begin(), answer->addresses.end());
  fuzz::promise(distinct.size() == answer->addresses.size(), "no address twice");
  for (const net::HostName& alias : answer->aliases) {
    const auto again = net::HostName::parse(alias.str());
    fuzz::promise(again.has_value() && *again == alias, "a name is one");
  }
  const auto second = net::read_answer(bytes, id, name, type);
  fuzz::promise(second.has_value() && second->addresses == answer->addresses &&
                    second->aliases == answer->aliases && second->ttl_s == answer->ttl_s,
                "it says the same twice");
  fuzz::promise(!net::read_answer(bytes, static_cast<std::uint16_t>(id + 1), name, type),
                "another id is another question");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  const std::uint16_t id = size < 2 ? 0 : static_cast<std::uint16_t>(data[0] << 8 | data[1]);
  const auto fixed = net::HostName::parse("a.example");
  check(bytes, id, *fixed, net::DnsType::kA);
  // The question that the input begins with, read as one.
  std::vector<std::byte> question(
      bytes.begin(), bytes.begin() + static_cast<long>(std::min(size, std::size_t{300})));
  if (question.size() < 17) return 0;
  std::size_t end = 12;
  while (end < question.size() && question[end] != std::byte{0}) {
    end += 1 + std::to_integer<std::size_t>(question[end]);
  }
  if (end + 5 > question.size()) return 0;
  question.resize(end + 5);
  question[2] = question[3] = std::byte{0};
  for (std::size_t i = 4; i < 12; ++i) question[i] = std::byte(i == 5 ? 1 : 0);
  const auto asked = net::read_query(question);
  if (!asked) return 0;
  check(bytes, id, asked->name, net::DnsType::kA);
  check(bytes, id, asked->name, net::DnsType::kAaaa);
  return 0;
}
