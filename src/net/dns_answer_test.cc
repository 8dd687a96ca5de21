// The other half of dns_message.h: answers of a resolver.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "net/dns_message.h"
#include "net/dns_test_bytes.h"

namespace glovebox::net {
namespace {

using namespace dns_test;
using namespace std::string_literals;

constexpr unsigned kGood = 0x8180;
std::string record(const std::string& owner, unsigned type, std::uint32_t ttl,
                   const std::string& data, unsigned record_class = 1) {
  return owner + n16(type) + n16(record_class) + n32(ttl) +
         n16(static_cast<unsigned>(data.size())) + data;
}
std::string a(const std::string& owner, std::string_view address, std::uint32_t ttl = 100) {
  const IpAddress value = ip(address);
  return record(owner, value.is_v4() ? 1 : 28, ttl,
                {reinterpret_cast<const char*>(value.data()), value.size()});
}
std::string cname(std::string_view owner, std::string_view target, std::uint32_t ttl = 100) {
  return record(wire(owner), 5, ttl, wire(target));
}
std::string answer(const std::vector<std::string>& records, std::string_view name = "a.example",
                   unsigned type = 1, unsigned flags = kGood) {
  std::string out =
      header(7, flags, {.answers = static_cast<unsigned>(records.size())}) + question(name, type);
  for (const std::string& one : records) out += one;
  return out;
}
// From memory that ends with the message, so that the address sanitizer sees a read past its end.
Result<DnsAnswer> read(std::string_view bytes, DnsType type = DnsType::kA) {
  return read_answer(exactly(bytes), 7, host("a.example"), type);
}
Errc why_not(std::string_view bytes) {
  const auto result = read(bytes);
  return result ? Errc::kInternal : result.error().code();
}
const std::string kAsked = "\xc0\x0c"s;  // a pointer at the question's name

TEST(DnsReadAnswer, TakesTheAddressesOfTheName) {
  const auto read_back = read(
      answer({a(kAsked, "192.0.2.1", 30), a(kAsked, "192.0.2.2", 20), a(kAsked, "192.0.2.1", 25)}));
  ASSERT_TRUE(read_back.has_value());
  EXPECT_EQ(read_back->code, DnsCode::kNoError);
  EXPECT_EQ(read_back->addresses, (std::vector{ip("192.0.2.1"), ip("192.0.2.2")}));
  EXPECT_TRUE(read_back->aliases.empty());
  EXPECT_EQ(read_back->ttl_s, 20u);
  const auto six =
      read(answer({a(wire("A.Example"), "2001:db8::1")}, "a.EXAMPLE", 28), DnsType::kAaaa);
  ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->addresses, std::vector{ip("2001:db8::1")});
}

TEST(DnsReadAnswer, AMappedAddressIsTheAddressInIt) {
  std::string data(10, '\0');
  data += "\xff\xff\x0a\0\0\x01"s;
  const auto six = read(answer({record(kAsked, 28, 5, data)}, "a.example", 28), DnsType::kAaaa);
  ASSERT_TRUE(six.has_value());
  EXPECT_EQ(six->addresses, std::vector{ip("10.0.0.1")});
}

TEST(DnsReadAnswer, FollowsAliasesInAnyOrder) {
  const auto chain =
      read(answer({a(wire("c.example"), "192.0.2.9", 300), cname("b.example", "C.example", 40),
                   cname("a.example", "b.example", 50)}));
  ASSERT_TRUE(chain.has_value());
  EXPECT_EQ(chain->addresses, std::vector{ip("192.0.2.9")});
  EXPECT_EQ(chain->aliases, (std::vector{host("b.example"), host("c.example")}));
  EXPECT_EQ(chain->ttl_s, 40u);
}

TEST(DnsReadAnswer, IgnoresARecordOfAnotherName) {
  const auto strangers =
      read(answer({a(wire("bank.example"), "192.0.2.66"), a(wire("b.a.example"), "192.0.2.67"),
                   a(wire("example"), "192.0.2.68"), a("\0"s, "192.0.2.69"),
                   a("\x01*\x07"
                     "example\0"s,
                     "192.0.2.70"),
                   a("\x09"
                     "a.example\0"s,
                     "192.0.2.71")}));
  ASSERT_TRUE(strangers.has_value());
  EXPECT_TRUE(strangers->addresses.empty());
  const auto aliased = read(answer({cname("a.example", "b.example"), a(kAsked, "192.0.2.66"),
                                    a(wire("b.example"), "192.0.2.1")}));
  ASSERT_TRUE(aliased.has_value());
  EXPECT_EQ(aliased->addresses, std::vector{ip("192.0.2.1")}) << "an alias has nothing of its own";
}

TEST(DnsReadAnswer, LooksOnlyAtTheAnswers) {
  std::string bytes = header(7, kGood, {.answers = 0, .authorities = 1, .additional = 1}) +
                      question("a.example") + a(kAsked, "192.0.2.66") + a(kAsked, "192.0.2.67");
  const auto none = read(bytes);
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->addresses.empty());
}

TEST(DnsReadAnswer, StepsOverOtherTypesAndClasses) {
  const auto some = read(
      answer({record(kAsked, 46, 5, std::string(70, 's')), record(kAsked, 1, 5, "\x7f\0\0\x01"s, 3),
              a(kAsked, "2001:db8::1"), a(kAsked, "192.0.2.1")}));
  ASSERT_TRUE(some.has_value());
  EXPECT_EQ(some->addresses, std::vector{ip("192.0.2.1")});
}

TEST(DnsReadAnswer, RefusesAliasesInACircleOrWithoutEnd) {
  EXPECT_EQ(why_not(answer({cname("a.example", "a.example")})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({cname("a.example", "b.example"), cname("b.example", "a.example")})),
            Errc::kProtocol);
  std::vector<std::string> chain = {cname("a.example", "x1.example")};
  for (int i = 1; i < 16; ++i) {
    chain.push_back(
        cname("x" + std::to_string(i) + ".example", "x" + std::to_string(i + 1) + ".example"));
  }
  chain.push_back(a(wire("x16.example"), "192.0.2.1"));
  const auto sixteen = read(answer(chain));
  ASSERT_TRUE(sixteen.has_value());
  EXPECT_EQ(sixteen->aliases.size(), 16u);
  EXPECT_EQ(sixteen->addresses.size(), 1u);
  chain.push_back(cname("x16.example", "x17.example"));
  EXPECT_EQ(why_not(answer(chain)), Errc::kProtocol);
}

TEST(DnsReadAnswer, RefusesAnAliasThatIsNoName) {
  EXPECT_EQ(why_not(answer({record(kAsked, 5, 5, "")})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({record(kAsked, 5, 5, "\0"s)})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({record(kAsked, 5, 5, wire("b.example") + "x")})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({record(kAsked, 5, 5,
                                   "\x05"
                                   "b.com\0"s)})),
            Errc::kProtocol);
  EXPECT_EQ(why_not(answer({record(kAsked, 5, 5, wire("127.1"))})), Errc::kProtocol);
}

TEST(DnsReadAnswer, TakesAtMostSixtyFourAddresses) {
  std::vector<std::string> many;
  for (int i = 0; i < 200; ++i) many.push_back(a(kAsked, "192.0.2." + std::to_string(i)));
  const auto read_back = read(answer(many));
  ASSERT_TRUE(read_back.has_value());
  EXPECT_EQ(read_back->addresses.size(), 64u);
}

TEST(DnsReadAnswer, AnswersToOtherQuestionsAreNone) {
  const std::vector<std::string> records = {a(kAsked, "192.0.2.1")};
  std::string other_id = answer(records);
  other_id[1] = 8;
  EXPECT_EQ(why_not(other_id), Errc::kNotFound);
  EXPECT_EQ(why_not(answer(records, "b.example")), Errc::kNotFound);
  EXPECT_EQ(why_not(answer(records, "a.example.org")), Errc::kNotFound);
  EXPECT_EQ(why_not(answer(records, "a.example", 28)), Errc::kNotFound);
  EXPECT_EQ(why_not(header(7, kGood, {}) + question("a.example", 1, 3)), Errc::kNotFound);
  EXPECT_EQ(why_not(header(7, kGood, {.questions = 0})), Errc::kNotFound);
  EXPECT_EQ(
      why_not(header(7, kGood, {.questions = 2}) + question("a.example") + question("a.example")),
      Errc::kNotFound);
  EXPECT_EQ(why_not(answer(records, "a.example", 1, 0x0100)), Errc::kNotFound);  // a question
  EXPECT_EQ(why_not(answer(records, "a.example", 1, kGood | 0x2800)), Errc::kNotFound);
  EXPECT_EQ(why_not(""), Errc::kNotFound);
  EXPECT_EQ(why_not(answer(records).substr(0, 20)), Errc::kNotFound);
}

TEST(DnsReadAnswer, ReturnsTheCode) {
  const auto code = [](unsigned flags) { return read(answer({}, "a.example", 1, flags))->code; };
  EXPECT_EQ(code(0x8183), DnsCode::kNxDomain);
  EXPECT_EQ(code(0x8182), DnsCode::kServFail);
  EXPECT_EQ(code(0x8185), DnsCode::kRefused);
  EXPECT_EQ(code(0x818f), DnsCode::kServFail) << "a code that we do not know";
  EXPECT_TRUE(read(answer({a(kAsked, "192.0.2.1")}, "a.example", 1, 0x8183))->addresses.empty());
}

TEST(DnsReadAnswer, IgnoresATruncatedAnswer) {
  const auto cut = read(answer({a(kAsked, "192.0.2.1")}, "a.example", 1, kGood | 0x0200));
  ASSERT_TRUE(cut.has_value());
  EXPECT_TRUE(cut->truncated);
  EXPECT_TRUE(cut->addresses.empty());
}

TEST(DnsReadAnswer, RefusesTruncatedAnswersWithoutTheFlag) {
  const std::string whole =
      answer({cname("a.example", "b.example"), a(wire("b.example"), "192.0.2.1")});
  ASSERT_TRUE(read(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read(whole.substr(0, size)).has_value()) << size;
  }
}

TEST(DnsReadAnswer, RefusesAddressesOfAWrongLength) {
  EXPECT_EQ(why_not(answer({record(kAsked, 1, 5, "\x01\x02\x03")})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({record(kAsked, 1, 5, std::string(16, '\x20'))})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({record(kAsked, 1, 5, "")})), Errc::kProtocol);
}

TEST(DnsReadAnswer, PointersGoBackwardsOnlyAndNotIntoTheHeader) {
  const std::size_t at = 12 + question("a.example").size();  // of the first owner
  const auto pointer = [](std::size_t target) {
    return n16(0xc000 | static_cast<unsigned>(target));
  };
  EXPECT_TRUE(read(answer({a(pointer(12), "192.0.2.1")})).has_value());
  EXPECT_EQ(why_not(answer({a(pointer(at), "192.0.2.1")})), Errc::kProtocol);      // itself
  EXPECT_EQ(why_not(answer({a(pointer(at + 2), "192.0.2.1")})), Errc::kProtocol);  // forwards
  EXPECT_EQ(why_not(answer({a(pointer(0x3fff), "192.0.2.1")})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({a(pointer(4), "192.0.2.1")})), Errc::kProtocol);
  EXPECT_EQ(why_not(answer({a("\x01"
                              "a" +
                                  pointer(at),
                              "192.0.2.1")})),
            Errc::kProtocol);
  // Half a pointer at the end.
  EXPECT_EQ(why_not(header(7, kGood, {.answers = 1}) + question("a.example") + "\xc0"),
            Errc::kProtocol);
}

TEST(DnsReadAnswer, ChainsOfPointersAreBounded) {
  // In a record of another type: pointers at pointers, the first at the question's name.
  const auto chained = [](unsigned links) {
    const std::size_t begin = 12 + question("a.example").size() + 2 + 10;
    std::string data = n16(0xc000 | 12);
    for (unsigned i = 1; i < links; ++i) {
      data += n16(0xc000 | static_cast<unsigned>(begin + (i - 1) * 2));
    }
    const unsigned last = static_cast<unsigned>(begin + (links - 1) * 2);
    return answer({record(kAsked, 16, 5, data), a(n16(0xc000 | last), "192.0.2.1")});
  };
  const auto few = read(chained(10));
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->addresses.size(), 1u);
  // With the owner's own pointer, 64 of them.
  const auto most = read(chained(63));
  ASSERT_TRUE(most.has_value());
  EXPECT_EQ(most->addresses.size(), 1u);
  EXPECT_EQ(why_not(chained(64)), Errc::kProtocol);
  EXPECT_EQ(why_not(chained(200)), Errc::kProtocol);
}

TEST(DnsReadAnswer, NamesThatPointersMakeTooLongAreNone) {
  const std::string label = "\x3f" + std::string(63, 'a');
  const std::size_t begin = 12 + question("a.example").size() + 2 + 10;
  const std::string text = record(kAsked, 16, 5, label + label + label + label + "\0"s);
  EXPECT_EQ(why_not(answer({text, a(n16(0xc000 | static_cast<unsigned>(begin)), "192.0.2.1")})),
            Errc::kProtocol);
}

TEST(DnsReadAnswer, AWildTtlIsNone) {
  EXPECT_EQ(read(answer({a(kAsked, "192.0.2.1", 0x80000000)}))->ttl_s, 0u);
  EXPECT_EQ(read(answer({a(kAsked, "192.0.2.1", 0x7fffffff)}))->ttl_s, 0x7fffffffu);
}

TEST(DnsReadAnswer, AnAnswerWithoutAnythingIsWhole) {
  EXPECT_FALSE(DnsAnswer{}.truncated);
  EXPECT_EQ(DnsAnswer{}.code, DnsCode::kNoError);
  EXPECT_EQ(DnsAnswer{}.ttl_s, 0u);
}

TEST(DnsReadAnswer, RefusesOneThatIsTooLong) {
  std::string bytes = answer({a(kAsked, "192.0.2.1")});
  bytes.resize(kMaxDnsAnswer);
  EXPECT_TRUE(read(bytes).has_value());
  bytes += 'x';
  EXPECT_FALSE(read(bytes).has_value());
}

}  // namespace
}  // namespace glovebox::net
