// A sandbox's questions for names, and what is answered to them.
#include <string>
#include <vector>

#include "fuzz_target.h"
#include "net/dns_message.h"

namespace {

using namespace glovebox;

std::uint16_t number(const std::vector<std::byte>& bytes, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) << 8 |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}

void check_rejection(const net::DnsRejected& rejected, std::size_t size) {
  fuzz::promise(rejected.why.size() < 80, "what is said is bounded");
  if (!rejected.answer) return;
  const auto& answer = *rejected.answer;
  fuzz::promise(answer.size() >= 12 && answer.size() <= size,
                "an error is no longer than its cause");
  fuzz::promise((number(answer, 2) & 0x8000) != 0, "it is an answer");
  fuzz::promise((number(answer, 2) & 0x000f) != 0, "and says no");
  const auto read = net::read_query(answer);
  fuzz::promise(!read && !read.error().answer, "nothing is answered to an answer");
}

void check_answer(const net::DnsQuery& query, const std::vector<net::IpAddress>& addresses) {
  const auto answer = net::write_answer(query, net::DnsCode::kNoError, addresses, 60, "because");
  fuzz::promise(answer.size() <= query.payload, "an answer fits");
  if (query.type != 1 && query.type != 28) return;
  const auto type = static_cast<net::DnsType>(query.type);
  const auto read = net::read_answer(answer, query.id, query.name, type);
  fuzz::promise(read.has_value(), "an answer answers the question");
  fuzz::promise(!read->truncated, "so few addresses fit any answer");
  fuzz::promise(read->addresses.size() == addresses.size() / 2, "one family is said");
  for (const net::IpAddress& address : read->addresses) {
    fuzz::promise(address.is_v4() == (query.type == 1), "and it is the one that was asked for");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  fuzz::reset_allocated();
  const auto query = net::read_query(bytes);
  fuzz::promise(fuzz::allocated() <= 8192, "it allocates little");
  if (!query) {
    check_rejection(query.error(), size);
    return 0;
  }
  fuzz::promise(size <= net::kMaxDnsQuery, "a question is short");
  fuzz::promise(query->payload >= 512 && query->payload <= 1232, "what it can take is bounded");
  fuzz::promise(query->asked_name.size() <= 255, "a name is bounded");
  const auto name = net::HostName::parse(query->name.str());
  fuzz::promise(name.has_value() && *name == query->name, "a name is one");
  const std::vector<net::IpAddress> addresses = {
      net::IpAddress::v4({192, 0, 2, 1}), net::IpAddress::v4({192, 0, 2, 2}),
      net::IpAddress::parse("2001:db8::1").value(), net::IpAddress::parse("2001:db8::2").value()};
  check_answer(*query, addresses);
  // What we would ask for it reads back as the same name.
  const auto asked = net::write_question(query->id, query->name, net::DnsType::kA);
  const auto again = net::read_query(asked);
  fuzz::promise(again.has_value() && again->name == query->name && again->id == query->id,
                "a question that we write is the same question");
  return 0;
}
