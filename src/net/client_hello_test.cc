#include "net/client_hello.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/client_hello_samples.h"

namespace glovebox::net {
namespace {

using namespace std::string_literals;

HelloResult read(std::string_view bytes) {
  return read_client_hello({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}
// "name:x", "refused:why" or "incomplete".
std::string said(std::string_view bytes) {
  const HelloResult result = read(bytes);
  if (const auto* name = std::get_if<HelloName>(&result)) return "name:" + name->name.str();
  if (const auto* no = std::get_if<HelloRefused>(&result)) return "refused:" + no->why;
  return "incomplete";
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string number(std::size_t value, int size) {
  std::string out;
  for (int i = size - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}
std::string with_size(int size, const std::string& bytes) {
  return number(bytes.size(), size) + bytes;
}
std::string record(const std::string& bytes, char type = 22) {
  return std::string(1, type) + "\x03\x01" + with_size(2, bytes);
}
std::string extension(std::uint16_t kind, const std::string& bytes) {
  return number(kind, 2) + with_size(2, bytes);
}
std::string name_entry(const std::string& name, char type = 0) {
  return std::string(1, type) + with_size(2, name);
}
std::string server_name(const std::string& name) {
  return extension(0, with_size(2, name_entry(name)));
}

struct Parts {
  std::string version = "\x03\x03"s;
  std::string session = std::string(32, 's');
  std::string suites = "\x13\x01\x13\x02"s;
  std::string compressions = "\0"s;
  std::string extensions = server_name("a.example");
  std::string behind = "";  // the extensions, in the message
};
std::string message(const Parts& parts) {
  const std::string body = parts.version + std::string(32, 'r') + with_size(1, parts.session) +
                           with_size(2, parts.suites) + with_size(1, parts.compressions) +
                           with_size(2, parts.extensions) + parts.behind;
  return "\x01" + with_size(3, body);
}
std::string said_of(const Parts& parts) { return said(record(message(parts))); }
std::string said_of_extensions(const std::string& extensions) {
  return said_of({.extensions = extensions});
}
std::string in_records(const std::string& bytes, std::size_t piece) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += piece) out += record(bytes.substr(i, piece));
  return out;
}

TEST(ClientHello, ReadsTheNameOfRealOnes) {
  EXPECT_EQ(said(from_hex(kTls10Hello)), "name:old.example.org");
  EXPECT_EQ(said(from_hex(kTls12Hello)), "name:files.example.org");
  EXPECT_EQ(said(from_hex(kTls13Hello)), "name:pypi.org");
  EXPECT_EQ(said(from_hex(kTls12And13Hello)), "name:files.pythonhosted.org");
  EXPECT_EQ(said(from_hex(kNoNameHello)), "refused:no server name");
}

TEST(ClientHello, EveryBeginningOfARealOneIsIncompleteAndItsEndTheAnswer) {
  for (const std::string_view hex :
       {kTls10Hello, kTls12Hello, kTls13Hello, kTls12And13Hello, kNoNameHello}) {
    const std::string whole = from_hex(hex);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      ASSERT_EQ(said(whole.substr(0, size)), "incomplete") << size;
    }
    EXPECT_EQ(said(whole + "\x14\x03\x03 early data, or anything"), said(whole));
  }
}

TEST(ClientHello, ReadsRealOnesSplitIntoTwoRecordsAtEveryByte) {
  const std::string bytes = from_hex(kTls13Hello).substr(5);
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    const std::string split = record(bytes.substr(0, at)) + record(bytes.substr(at));
    ASSERT_EQ(said(split), "name:pypi.org") << at;
    ASSERT_EQ(said(split.substr(0, split.size() - 1)), "incomplete") << at;
  }
}

TEST(ClientHello, ReadsOneInRecordsOfAFewBytes) {
  for (const std::size_t piece : {1, 2, 3, 5, 7, 64}) {
    EXPECT_EQ(said(in_records(from_hex(kTls12Hello).substr(5), piece)), "name:files.example.org");
  }
}

TEST(ClientHello, GivesTheNameInOneForm) {
  EXPECT_EQ(said_of_extensions(server_name("WWW.Example.COM")), "name:www.example.com");
  EXPECT_EQ(said_of_extensions(server_name("www.example.com.")), "name:www.example.com");
  EXPECT_EQ(said_of_extensions(server_name("xn--bcher-kva.example")), "name:xn--bcher-kva.example");
}

TEST(ClientHello, RefusesWhatIsNoHostName) {
  const std::string no = "refused:server name is not a host name";
  for (const std::string& name :
       {""s, "."s, "a..example"s, "a.example\0"s, "a.example\0.evil.example"s, "1.2.3.4"s, "127.1"s,
        "0x7f000001"s, "2130706433"s, "::1"s, "[::1]"s, "::ffff:1.2.3.4"s,
        "b\xc3\xbc"s
        "cher.example"s,
        "a example"s, "a.example:443"s, "*.example"s, "a.example.."s, std::string(64, 'a') + ".b",
        std::string(300, 'a')}) {
    EXPECT_EQ(said_of_extensions(server_name(name)), no) << name;
  }
}

TEST(ClientHello, RefusesTwoServerNames) {
  EXPECT_EQ(said_of_extensions(server_name("a.example") + server_name("b.example")),
            "refused:two server names");
  EXPECT_EQ(said_of_extensions(server_name("a.example") + server_name("a.example")),
            "refused:two server names");
  EXPECT_EQ(said_of_extensions(
                extension(0, with_size(2, name_entry("a.example") + name_entry("b.example")))),
            "refused:two server names");
  EXPECT_EQ(said_of_extensions(
                extension(0, with_size(2, name_entry("odd", 1) + name_entry("a.example")))),
            "refused:two server names");
}

TEST(ClientHello, RefusesANameOfAnotherType) {
  EXPECT_EQ(said_of_extensions(extension(0, with_size(2, name_entry("a.example", 1)))),
            "refused:server name of unknown type");
}

TEST(ClientHello, RefusesTwoExtensionsOfOneKind) {
  EXPECT_EQ(said_of_extensions(extension(43, "x") + server_name("a.example") + extension(43, "y")),
            "refused:duplicate extension");
}

TEST(ClientHello, TakesGrease) {
  EXPECT_EQ(said_of_extensions(extension(0x0a0a, "") + server_name("a.example") +
                               extension(0xfafa, "\0"s)),
            "name:a.example");
}

TEST(ClientHello, TheOuterNameOfAnEncryptedOneCounts) {
  const std::string outer = "\0\0\x01\0\x01\x07"s + with_size(2, std::string(32, 'k')) +
                            with_size(2, server_name("hidden.example"));
  EXPECT_EQ(said_of_extensions(extension(0xfe0d, outer) + server_name("public.example")),
            "name:public.example");
  // Without one, what is inside could be any name.
  for (const int kind : {0xfe0d, 0xfe08, 0xffce}) {
    EXPECT_EQ(said_of_extensions(extension(static_cast<std::uint16_t>(kind), outer)),
              "refused:encrypted server name");
  }
}

TEST(ClientHello, RefusesServerNamesWhoseLengthsDisagree) {
  const std::string no = "refused:server name: lengths disagree";
  EXPECT_EQ(said_of_extensions(extension(0, "")), no);
  EXPECT_EQ(said_of_extensions(extension(0, "\0"s)), no);
  EXPECT_EQ(said_of_extensions(extension(0, with_size(2, name_entry("a.example")) + "x")), no);
  EXPECT_EQ(said_of_extensions(extension(0, number(99, 2) + name_entry("a.example"))), no);
  EXPECT_EQ(said_of_extensions(extension(0, with_size(2, "\0"s + number(99, 2) + "a.example"))),
            no);
  EXPECT_EQ(said_of_extensions(extension(0, number(0, 2))),
            "refused:an empty list of server names");
  EXPECT_EQ(said_of_extensions(extension(0, with_size(2, "\0"s + with_size(2, "a.e") + "xample"))),
            "refused:two server names");
}

TEST(ClientHello, RefusesMessagesWhoseLengthsDisagree) {
  const std::string no = "refused:ClientHello: lengths disagree";
  EXPECT_EQ(said_of({.session = std::string(33, 's')}), no);
  EXPECT_EQ(said_of({.suites = ""}), no);
  EXPECT_EQ(said_of({.suites = "\x13\x01\x13"}), no);
  EXPECT_EQ(said_of({.compressions = ""}), no);
  EXPECT_EQ(said_of({.behind = "x"}), no);
  EXPECT_EQ(said(record("\x01" + with_size(3, "\x03\x03"))), no);
  EXPECT_EQ(said_of_extensions(server_name("a.example") + "\0"s),
            "refused:extensions: lengths disagree");
  EXPECT_EQ(said_of_extensions(server_name("a.example") + number(5, 2) + number(9, 2) + "short"),
            "refused:extensions: lengths disagree");
}

TEST(ClientHello, RefusesAMessageCutShorterThanItsParts) {
  const std::string whole = message({});
  for (std::size_t body = 0; body + 4 < whole.size(); ++body) {
    const std::string cut = "\x01" + with_size(3, whole.substr(4, body));
    EXPECT_EQ(said(record(cut)).substr(0, 8), "refused:") << body;
  }
}

TEST(ClientHello, RefusesOneWithoutExtensionsAsNameless) {
  const std::string body = "\x03\x01" + std::string(32, 'r') + with_size(1, "") +
                           with_size(2, "\0\x2f"s) + with_size(1, "\0"s);
  EXPECT_EQ(said(record("\x01" + with_size(3, body))), "refused:no server name");
}

TEST(ClientHello, RefusesOtherVersions) {
  for (const std::string& version : {"\x03\x00"s, "\x02\x00"s, "\x04\x00"s, "\x00\x02"s}) {
    EXPECT_EQ(said_of({.version = version}), "refused:unknown TLS version");
  }
  EXPECT_EQ(said_of({.version = "\x03\x01"}), "name:a.example");
}

TEST(ClientHello, RefusesOtherProtocolsAtTheirFirstByte) {
  EXPECT_EQ(said("G"), "refused:not TLS");
  EXPECT_EQ(said("SSH-2.0-x\r\n"), "refused:not TLS");
  EXPECT_EQ(said("\0"s), "refused:not TLS");
  EXPECT_EQ(said("\x19\x03\x01"), "refused:not TLS");
  EXPECT_EQ(said("\x80\x2e"), "incomplete");
  EXPECT_EQ(said("\x80\x2e\x02\x03\x01"), "refused:not TLS");
}

TEST(ClientHello, RecordsThatServersStepOverDoNotHideAHello) {
  const std::string warning = record("\x01\x5a", 21);
  for (const std::string& before :
       {warning, record("\x01", 20), record("x", 23), record("x", 24)}) {
    EXPECT_EQ(said(before + record(message({}))), "refused:another record before the ClientHello");
  }
  EXPECT_EQ(said("\x80\x2e\x01\x03\x01"), "refused:SSLv2 hello");
}

TEST(ClientHello, RefusesRecordsOfOtherVersionsWhichServersTake) {
  const std::string no = "refused:TLS record of unknown version";
  const std::string whole = record(message({}));
  for (const char version : {'\x02', '\x04', '\0', '\xfe'}) {
    std::string other = whole;
    other[1] = version;
    EXPECT_EQ(said(other), no);
    EXPECT_EQ(said(other.substr(0, 2)), no);
    std::string second = record(message({}).substr(20));
    second[1] = version;
    EXPECT_EQ(said(record(message({}).substr(0, 20)) + second), no);
  }
}

TEST(ClientHello, IsNamelessOnlyWithoutAnyServerName) {
  const auto is_nameless = [](const std::string& bytes) {
    const HelloResult result = read(bytes);
    const auto* no = std::get_if<HelloRefused>(&result);
    return no != nullptr && no->is_nameless;
  };
  EXPECT_TRUE(is_nameless("GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(is_nameless("\x80\x2e\x02"));
  EXPECT_TRUE(is_nameless(from_hex(kNoNameHello)));
  EXPECT_TRUE(is_nameless(record(message({.extensions = extension(43, "x")}))));
  const std::string hello = record(message({}));
  for (const std::string& other :
       {record("\x01\x5a", 21) + hello, "\x16\x02" + hello.substr(2), "\x80\x2e\x01"s,
        record("\x02"), record(""), record(message({}) + "x"),
        record(message({.extensions = extension(0xfe0d, "x")})),
        record(message({.extensions = extension(0, "")})),
        record(message({.extensions = extension(0, number(0, 2))})),
        record(message({.extensions = server_name("a b")})),
        record(message({.extensions = server_name("a.example") + server_name("b.example")}))}) {
    EXPECT_FALSE(is_nameless(other));
  }
}

TEST(ClientHello, RefusesAnotherHandshakeMessage) {
  EXPECT_EQ(said(record("\x02")), "refused:not a ClientHello");
  EXPECT_EQ(said(record("\0\0\0\0"s)), "refused:not a ClientHello");  // a HelloRequest
}

TEST(ClientHello, RefusesOtherRecordsInBetween) {
  const std::string whole = message({});
  const std::string first = record(whole.substr(0, 20));
  const std::string rest = record(whole.substr(20));
  EXPECT_EQ(said(first + rest), "name:a.example");
  for (const std::string& between : {record("\x01", 20), record("\x02\x28", 21), record("x", 23)}) {
    EXPECT_EQ(said(first + between + rest), "refused:another record inside the ClientHello");
    EXPECT_EQ(said(first + between.substr(0, 1)), "refused:another record inside the ClientHello");
  }
  EXPECT_EQ(said(record("", 22) + first + rest), "refused:TLS record of invalid length");
  EXPECT_EQ(said(first + record("") + rest), "refused:TLS record of invalid length");
}

TEST(ClientHello, RefusesMoreThanAHelloInItsRecord) {
  EXPECT_EQ(said(record(message({}) + "x")), "refused:unexpected data after the ClientHello");
  EXPECT_EQ(said(record(message({}) + message({.extensions = server_name("b.example")}))),
            "refused:unexpected data after the ClientHello");
}

TEST(ClientHello, RefusesATooLongHelloAsSoonAsItsLengthIsKnown) {
  EXPECT_EQ(said("\x16\x03\x01\x40\x01"s), "refused:TLS record of invalid length");
  EXPECT_EQ(said(record("\x01\0\x40\0"s)), "refused:ClientHello too long");
  EXPECT_EQ(said(record("\x01\xff\xff\xff"s)), "refused:ClientHello too long");
  // Its header alone says so, and what follows does not change that.
  const std::string header = "\x16\x03\x01\x40\x00"s;
  EXPECT_EQ(said(header), "refused:ClientHello too long");
  EXPECT_EQ(said(header + "\x02"), "refused:ClientHello too long");
}

TEST(ClientHello, TakesOneThatJustFits) {
  const std::size_t around =
      record(message({.extensions = server_name("a.example") + extension(21, "")})).size();
  const auto padded = [&](std::size_t size) {
    const std::string padding(size - around, '\0');
    return message({.extensions = server_name("a.example") + extension(21, padding)});
  };
  EXPECT_EQ(said(record(padded(kMaxClientHello))), "name:a.example");
  EXPECT_EQ(said(record(padded(kMaxClientHello + 1))), "refused:ClientHello too long");
  // The same in two records has five bytes too many, which shows as soon as its length does.
  const std::string split = in_records(padded(kMaxClientHello), 16000);
  EXPECT_EQ(said(split.substr(0, 8)), "incomplete");
  EXPECT_EQ(said(split.substr(0, 9)), "refused:ClientHello too long");
  EXPECT_EQ(said(split), "refused:ClientHello too long");
}

TEST(ClientHello, ReportsTheMinimumLengthOfAWholeHello) {
  const auto needs = [](const std::string& bytes) {
    return std::get<HelloIncomplete>(read(bytes)).needs;
  };
  const std::string whole = record(message({}));
  EXPECT_EQ(needs(""), 6u);
  EXPECT_EQ(needs(whole.substr(0, 4)), 6u);
  EXPECT_EQ(needs(whole.substr(0, 5)), whole.size());
  EXPECT_EQ(needs(whole.substr(0, whole.size() - 1)), whole.size());
  EXPECT_EQ(needs("\x80"), 3u);
  // In two records: the end of the first one until its length is known, then that of both.
  const std::string two = in_records(message({}), 50);
  EXPECT_EQ(needs(two.substr(0, 8)), 55u);
  EXPECT_EQ(needs(two.substr(0, 9)), whole.size() + 5);
  EXPECT_EQ(needs(two.substr(0, 55)), whole.size() + 5);
}

TEST(ClientHello, WaitingForTheMinimumLengthParsesOnlyAFewTimes) {
  // The worst that a sandbox can do: each byte in a record of its own.
  const std::string drops = in_records(message({.extensions = std::string(2500, '\0')}), 1);
  int looks = 0;
  for (std::size_t size = 0;; ++looks) {
    const HelloResult result = read(std::string_view(drops).substr(0, size));
    const auto* incomplete = std::get_if<HelloIncomplete>(&result);
    if (incomplete == nullptr) break;
    ASSERT_GT(incomplete->needs, size);
    size = incomplete->needs;
  }
  EXPECT_LT(looks, 60);
}

TEST(ClientHello, NeverAsksForMoreThanTheMaximum) {
  // Records of one byte: the headers alone fill it, and what is left would not fit.
  const std::string many = in_records(message({.extensions = std::string(9000, '\0')}), 1);
  ASSERT_GT(many.size(), kMaxClientHello);
  std::size_t size = 0;
  while (size < many.size() && said(many.substr(0, size)) == "incomplete") size += 100;
  EXPECT_LT(size, kMaxClientHello);
  EXPECT_EQ(said(many.substr(0, size)), "refused:ClientHello too long");
  EXPECT_EQ(said(many.substr(0, kMaxClientHello)), "refused:ClientHello too long");
  EXPECT_EQ(said(many), "refused:ClientHello too long");
}

TEST(ClientHello, AnAnswerOnceGivenStays) {
  std::vector<std::string> inputs = {in_records(message({}), 3) + "and more",
                                     record(message({}) + "x"),
                                     record(message({}).substr(0, 30)) + record("\x01", 20)};
  for (const std::string& input : inputs) {
    std::string answer = "incomplete";
    for (std::size_t size = 0; size <= input.size(); ++size) {
      const std::string now = said(input.substr(0, size));
      if (answer != "incomplete") {
        EXPECT_EQ(now, answer) << size;
      }
      answer = now;
    }
    EXPECT_NE(answer, "incomplete");
  }
}

}  // namespace
}  // namespace glovebox::net
