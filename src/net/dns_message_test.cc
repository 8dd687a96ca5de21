#include "net/dns_message.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "net/dns_test_bytes.h"

namespace glovebox::net {
namespace {

using namespace dns_test;
using namespace std::string_literals;

unsigned code_of(const std::string& answer) { return answer.at(3) & 0x0f; }
// The code of the error answer, or -1 if there is none to give.
int rejected(std::string_view bytes) {
  const auto read = read_query(exactly(bytes));
  if (read.has_value()) return 99;
  if (!read.error().answer) return -1;
  return static_cast<int>(code_of(as_text(*read.error().answer)));
}
constexpr int kNothing = -1;
constexpr int kFormErr = 1;

TEST(DnsQuery, ReadsAPlainQuestion) {
  const auto read = read_query(as_bytes(query("www.example.org", 28)));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->id, 0x1234);
  EXPECT_TRUE(read->recursion_desired);
  EXPECT_EQ(read->name, host("www.example.org"));
  EXPECT_EQ(read->type, 28);
  EXPECT_EQ(read->payload, 512);
  EXPECT_FALSE(read->has_opt);
}

TEST(DnsQuery, ReadsWhatGlibcWrites) {
  // Of glibc 2.36, caught on the wire: plain, and with `options edns0 trust-ad`.
  const std::string plain =
      "\x66\xdf\x01\0\0\x01\0\0\0\0\0\0\x03www\x07"
      "Example\x03org\0\0\x1c\0\x01"s;
  const auto first = read_query(as_bytes(plain));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->name, host("www.example.org"));
  EXPECT_EQ(first->type, 28);
  const std::string edns =
      "\xdb\x60\x01\x20\0\x01\0\0\0\0\0\x01\x04pypi\x03org\0\0\x01\0\x01"
      "\0\0\x29\x04\xb0\0\0\0\0\0\0"s;
  const auto second = read_query(as_bytes(edns));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->name, host("pypi.org"));
  EXPECT_EQ(second->payload, 1200);
}

TEST(DnsQuery, ReadsTheOptAndKeepsItsPayloadWithinBounds) {
  for (const auto& [said, taken] : {std::pair{0u, 512},
                                    {511u, 512},
                                    {1000u, 1000},
                                    {1232u, 1232},
                                    {4096u, 1232},
                                    {65535u, 1232}}) {
    const auto read =
        read_query(as_bytes(header(1, 0, {.additional = 1}) + question("a.example") + opt(said)));
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(read->has_opt);
    EXPECT_EQ(read->payload, taken);
  }
  const std::string cookie = n16(10) + n16(8) + "12345678";
  EXPECT_TRUE(read_query(as_bytes(header(1, 0, {.additional = 1}) + question("a.example") +
                                  opt(1232, cookie, 0x8000)))
                  .has_value());
}

TEST(DnsQuery, RefusesAnOptThatIsWrong) {
  const std::string begin = header(1, 0, {.additional = 1}) + question("a.example");
  EXPECT_EQ(rejected(begin), kFormErr);
  EXPECT_EQ(rejected(begin + opt(1232, "x")), kFormErr);  // half an option
  EXPECT_EQ(rejected(begin + opt(1232, n16(10) + n16(9) + "12345678")), kFormErr);
  EXPECT_EQ(rejected(begin + opt(1232, "", 0x00010000)), kFormErr);  // EDNS 1
  EXPECT_EQ(rejected(begin + opt() + "x"), kFormErr);
  EXPECT_EQ(rejected(begin + "\x01" + opt()), kFormErr);  // not of the root
  EXPECT_EQ(rejected(begin + wire("a.example") + n16(1) + n16(1) + n32(1) + n16(4) + "1234"),
            kFormErr);  // another record
  EXPECT_EQ(rejected(header(1, 0, {.additional = 2}) + question("a.example") + opt() + opt()),
            kFormErr);
  EXPECT_EQ(rejected(header(1, 0, {}) + question("a.example") + opt()), kFormErr);  // not counted
}

TEST(DnsQuery, GivesTheNameInOneFormAndKeepsTheLettersOfTheQuestion) {
  const auto read = read_query(as_bytes(query("WwW.eXaMpLe.OrG")));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->name, host("www.example.org"));
  EXPECT_EQ(read->asked_name, wire("WwW.eXaMpLe.OrG"));
  const std::vector<IpAddress> addresses = {ip("192.0.2.1")};
  const std::string answer = as_text(write_answer(*read, DnsCode::kNoError, addresses, 60));
  EXPECT_EQ(answer.substr(12, 17), wire("WwW.eXaMpLe.OrG"));
}

TEST(DnsQuery, NothingIsAnsweredToWhatHasNoHeaderOrIsAnAnswer) {
  for (std::size_t size = 0; size < 12; ++size) {
    EXPECT_EQ(rejected(query("a.example").substr(0, size)), kNothing) << size;
  }
  EXPECT_EQ(rejected(header(1, 0x8180, {}) + question("a.example")), kNothing);
}

TEST(DnsQuery, RefusesEveryOneThatIsCutOff) {
  const std::string whole =
      header(1, 0, {.additional = 1}) + question("www.example.org") + opt(1232, n16(1) + n16(0));
  ASSERT_TRUE(read_query(as_bytes(whole)).has_value());
  for (std::size_t size = 12; size < whole.size(); ++size) {
    EXPECT_EQ(rejected(whole.substr(0, size)), kFormErr) << size;
  }
  // Inside of the type or the class behind the name, the log says so and no question is repeated.
  const std::size_t end_of_name = 12 + wire("www.example.org").size();
  for (std::size_t size = end_of_name; size < end_of_name + 4; ++size) {
    const auto read = read_query(exactly(whole.substr(0, size)));
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().why, "cut off") << size;
    EXPECT_EQ(read.error().answer.value().size(), 12u);
  }
}

TEST(DnsQuery, RefusesOtherCounts) {
  const std::string one = question("a.example");
  EXPECT_EQ(rejected(header(1, 0, {.questions = 0})), kFormErr);
  EXPECT_EQ(rejected(header(1, 0, {.questions = 0}) + one), kFormErr);
  EXPECT_EQ(rejected(header(1, 0, {.questions = 2}) + one + one), kFormErr);
  EXPECT_EQ(rejected(header(1, 0, {.questions = 65535}) + one), kFormErr);
  EXPECT_EQ(rejected(header(1, 0, {.answers = 1}) + one), kFormErr);
  EXPECT_EQ(rejected(header(1, 0, {.authorities = 1}) + one), kFormErr);
  EXPECT_EQ(rejected(header(1, 0, {}) + one + "x"), kFormErr);
  EXPECT_EQ(rejected(header(1, 0x0200, {}) + one), kFormErr);  // a question that is cut
}

TEST(DnsQuery, RefusesOtherOpcodesAndClasses) {
  EXPECT_EQ(rejected(header(1, 0x2800, {}) + question("a.example")), 4);  // UPDATE
  EXPECT_EQ(rejected(header(1, 0, {}) + question("version.bind", 16, 3)), 5);
  EXPECT_EQ(rejected(header(1, 0, {}) + question("a.example", 1, 255)), 5);
}

TEST(DnsQuery, RefusesCompressionAndOtherKindsOfLabels) {
  const std::string begin = header(1, 0, {});
  const std::string end = n16(1) + n16(1);
  EXPECT_EQ(rejected(begin + "\xc0\x0c"s + end), kFormErr);  // at itself
  EXPECT_EQ(rejected(begin +
                     "\x01"
                     "a\xc0\x0c"s +
                     end),
            kFormErr);
  EXPECT_EQ(rejected(begin + "\xc0\x00"s + end), kFormErr);  // into the header
  EXPECT_EQ(rejected(begin + "\x40" + std::string(64, 'a') + "\0"s + end), kFormErr);
  EXPECT_EQ(rejected(begin + "\x80\0"s + end), kFormErr);
}

TEST(DnsQuery, BoundsTheLengthOfNamesAndMessages) {
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  const auto read = read_query(as_bytes(query(longest)));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->asked_name.size(), 255u);
  EXPECT_EQ(rejected(query(longest + "c")), kFormErr);
  EXPECT_EQ(rejected(query("a.example") + std::string(kMaxDnsQuery, 'x')), kFormErr);
  // One whose OPT fills it up to the limit, and one byte more.
  const auto padded = [](std::size_t size) {
    const std::string begin = header(1, 0, {.additional = 1}) + question("a.example");
    const std::size_t padding = size - begin.size() - opt().size() - 4;
    return begin +
           opt(1232, n16(12) + n16(static_cast<unsigned>(padding)) + std::string(padding, '\0'));
  };
  ASSERT_EQ(padded(kMaxDnsQuery).size(), kMaxDnsQuery);
  EXPECT_TRUE(read_query(as_bytes(padded(kMaxDnsQuery))).has_value());
  EXPECT_EQ(rejected(padded(kMaxDnsQuery + 1)), kFormErr);
}

TEST(DnsQuery, TakesEveryLetterAndDigitOfAHostName) {
  const std::string all = "ABCDEFGHIJKLMNOPQRSTUVWXYZ.abcdefghijklmnopqrstuvwxyz.0123456789-_x";
  const auto read = read_query(as_bytes(query(all)));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->asked_name, wire(all));
}

TEST(DnsQuery, WithoutAnOptItAsksForThePlainForm) {
  const DnsQuery plain{.name = host("a.example"), .asked_name = ""};
  EXPECT_FALSE(plain.recursion_desired);
  EXPECT_FALSE(plain.has_opt);
  EXPECT_EQ(plain.payload, 512);
}

TEST(DnsQuery, ANameThatIsNoHostNameDoesNotExist) {
  for (const std::string& name : {""s, "a b.example"s, "*.example"s, "127.1"s, "1.2.3.4"s,
                                  "b\xc3\xbc"s
                                  "cher.example"s,
                                  "0x7f000001"s}) {
    EXPECT_EQ(rejected(query(name)), 3) << name;
  }
  // A label with a dot or a NUL inside is not two labels, nor a shorter one.
  EXPECT_EQ(rejected(header(1, 0, {}) +
                     "\x09"
                     "a.example\0"s +
                     n16(1) + n16(1)),
            3);
  EXPECT_EQ(rejected(header(1, 0, {}) +
                     "\x03"
                     "a\0b\x07"
                     "example\0"s +
                     n16(1) + n16(1)),
            3);
}

TEST(DnsQuery, AnErrorAnswersTheQuestionThatWasAsked) {
  const std::string asked = header(0xbeef, 0x0100, {}) + question("*.example", 28);
  const auto read = read_query(as_bytes(asked));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(as_text(read.error().answer.value()),
            header(0xbeef, 0x8183, {}) + question("*.example", 28));
}

DnsQuery asked(std::string_view name, unsigned type = 1, unsigned payload = 512,
               bool has_opt = false) {
  return {.id = 7,
          .recursion_desired = true,
          .name = host(name),
          .type = static_cast<std::uint16_t>(type),
          .payload = static_cast<std::uint16_t>(payload),
          .has_opt = has_opt,
          .asked_name = wire(name)};
}

TEST(DnsWriteAnswer, ReturnsAddressesOfTheRequestedFamily) {
  const std::vector<IpAddress> addresses = {ip("192.0.2.1"), ip("2001:db8::1"), ip("192.0.2.2")};
  EXPECT_EQ(as_text(write_answer(asked("a.example"), DnsCode::kNoError, addresses, 60)),
            header(7, 0x8180, {.answers = 2}) + question("a.example") + "\xc0\x0c" + n16(1) +
                n16(1) + n32(60) + n16(4) + "\xc0\0\x02\x01"s + "\xc0\x0c" + n16(1) + n16(1) +
                n32(60) + n16(4) + "\xc0\0\x02\x02"s);
  const std::string six =
      as_text(write_answer(asked("a.example", 28), DnsCode::kNoError, addresses, 60));
  EXPECT_EQ(six.size(), 12 + 15 + 28u);
  const std::string other =
      as_text(write_answer(asked("a.example", 65), DnsCode::kNoError, addresses, 60));
  EXPECT_EQ(other, header(7, 0x8180, {}) + question("a.example", 65));
}

TEST(DnsWriteAnswer, CanBeReadBack) {
  const std::vector<IpAddress> addresses = {ip("192.0.2.1"), ip("192.0.2.2")};
  const auto read =
      read_answer(write_answer(asked("a.example", 1, 1232, true), DnsCode::kNoError, addresses, 42),
                  7, host("a.example"), DnsType::kA);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->addresses, addresses);
  EXPECT_EQ(read->ttl_s, 42u);
}

TEST(DnsWriteAnswer, AddsTheReasonOnlyForEdnsClients) {
  const std::string why = "not in the policy";
  const std::string plain =
      as_text(write_answer(asked("a.example"), DnsCode::kNxDomain, {}, 0, why));
  EXPECT_EQ(plain, header(7, 0x8183, {}) + question("a.example"));
  const std::string told =
      as_text(write_answer(asked("a.example", 1, 1232, true), DnsCode::kNxDomain, {}, 0, why));
  const std::string error = n16(15) + n16(2 + 17) + n16(18) + why;
  EXPECT_EQ(told, header(7, 0x8183, {.additional = 1}) + question("a.example") + opt(1232, error));
}

TEST(DnsWriteAnswer, StaysWithinThePayloadAndSetsTheTruncationFlag) {
  const std::vector<IpAddress> addresses(60, ip("2001:db8::1"));
  for (const unsigned payload : {512u, 513u, 700u, 1232u}) {
    for (const bool has_opt : {false, true}) {
      const auto bytes = write_answer(asked("a.example", 28, payload, has_opt), DnsCode::kNoError,
                                      addresses, 60, std::string(900, 'w'));
      EXPECT_LE(bytes.size(), payload);
      EXPECT_GT(bytes.size(), payload - 28 - 11);
      EXPECT_NE(std::to_integer<int>(bytes[2]) & 0x02, 0);
    }
  }
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  const std::vector<IpAddress> eight(8, ip("2001:db8::1"));
  const auto bytes = write_answer(asked(longest, 28, 512, true), DnsCode::kNoError, eight, 60);
  EXPECT_EQ(std::to_integer<int>(bytes[2]) & 0x02, 0) << "eight addresses fit any answer";
}

TEST(DnsWriteAnswer, FillsThePayloadToItsLastByte) {
  const std::vector<IpAddress> three(3, ip("192.0.2.1"));
  const std::size_t fits = header(7, 0, {}).size() + question("a.example").size() + 3 * 16;
  const auto answered = [&](std::size_t payload) {
    return write_answer(asked("a.example", 1, static_cast<unsigned>(payload)), DnsCode::kNoError,
                        three, 60);
  };
  EXPECT_EQ(answered(fits).size(), fits);
  EXPECT_EQ(std::to_integer<int>(answered(fits)[2]) & 0x02, 0);
  EXPECT_EQ(answered(fits - 1).size(), fits - 16);
  EXPECT_NE(std::to_integer<int>(answered(fits - 1)[2]) & 0x02, 0);
}

TEST(DnsWriteAnswer, CutsTheReasonToWhatFits) {
  const std::size_t bare = 12 + question("a.example").size() + opt().size();
  const auto denied = [&](std::size_t payload) {
    return as_text(write_answer(asked("a.example", 1, static_cast<unsigned>(payload), true),
                                DnsCode::kNxDomain, {}, 0, "why not"));
  };
  const std::string begin = header(7, 0x8183, {.additional = 1}) + question("a.example");
  EXPECT_EQ(denied(bare + 5), begin + opt(1232));  // no room for the head of an option
  EXPECT_EQ(denied(bare + 6), begin + opt(1232, n16(15) + n16(2) + n16(18)));
  EXPECT_EQ(denied(bare + 9), begin + opt(1232, n16(15) + n16(5) + n16(18) + "why"));
}

TEST(DnsWriteQuestion, IsAPlainQuestion) {
  EXPECT_EQ(as_text(write_question(0x4711, host("www.example.org"), DnsType::kAaaa)),
            header(0x4711, 0x0100, {}) + question("www.example.org", 28));
}

}  // namespace
}  // namespace glovebox::net
