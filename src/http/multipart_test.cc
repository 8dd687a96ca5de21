#include "http/multipart.h"

#include <gtest/gtest.h>

#include <vector>

namespace glovebox::http {
namespace {

using Event = MultipartReader::Event;

struct Taken {
  std::vector<MultipartReader::Part> parts;
  std::vector<std::string> contents;
  std::vector<bool> whole;
  Event last = Event::kMore;
  bool operator==(const Taken&) const = default;
};

Taken take(std::string_view body, std::size_t piece, const std::string& boundary = "b") {
  MultipartReader reader(boundary);
  Taken taken;
  while (true) {
    const Event event = reader.next();
    switch (event) {
      case Event::kMore:
        if (body.empty()) return taken;
        reader.add(body.substr(0, piece));
        body.remove_prefix(std::min(body.size(), piece));
        break;
      case Event::kPart:
        taken.parts.push_back(reader.part());
        taken.contents.emplace_back();
        taken.whole.push_back(false);
        break;
      case Event::kData:
        taken.contents.back() += reader.data();
        break;
      case Event::kPartEnd:
        taken.whole.back() = true;
        break;
      case Event::kEnd:
      case Event::kBad:
        taken.last = event;
        return taken;
    }
  }
}

// However it is cut, the same.
Taken take_any(std::string_view body, const std::string& boundary = "b") {
  const Taken taken = take(body, body.size() + 1, boundary);
  for (const std::size_t piece : {1, 2, 3, 7, 64}) {
    EXPECT_EQ(take(body, piece, boundary), taken) << piece;
  }
  return taken;
}

std::string part(const std::string& disposition, const std::string& content) {
  return "--b\r\nContent-Disposition: form-data; " + disposition +
         "\r\nContent-Type: text/plain\r\n\r\n" + content + "\r\n";
}

TEST(Multipart, GivesThePartsWithTheirNamesAndBytes) {
  std::string binary;
  for (int i = 0; i < 256; ++i) binary.push_back(static_cast<char>(i));
  binary += "\r\n--\r\n-b\r\n--a\r";
  const Taken taken = take_any(part("name=\"file\"; filename=\"/home/user/a b.txt\"", binary) +
                               part("name=other", "") + part("name=\"file\"", "x") + "--b--\r\n");
  EXPECT_EQ(taken.last, Event::kEnd);
  ASSERT_EQ(taken.parts.size(), 3u);
  EXPECT_EQ(taken.parts[0].name, "file");
  EXPECT_EQ(taken.parts[0].filename, "/home/user/a b.txt");
  EXPECT_EQ(taken.contents[0], binary);
  EXPECT_EQ(taken.parts[1].name, "other");
  EXPECT_EQ(taken.parts[1].filename, std::nullopt);
  EXPECT_EQ(taken.contents[1], "");
  EXPECT_EQ(taken.contents[2], "x");
  EXPECT_EQ(taken.whole, (std::vector<bool>{true, true, true}));
}

TEST(Multipart, TakesAPreambleAnEpilogueAndAPartThatIsEmptyInAnyWay) {
  const Taken taken = take_any(
      "hello\r\n--bx\r\n--b  \r\nContent-Disposition: form-data; "
      "name=file\r\n\r\n--b--more\r\n--b");
  EXPECT_EQ(taken.last, Event::kBad) << "--bx looks like a boundary and is none";
  const Taken good = take_any(
      "hello\r\n--b  \r\ncontent-disposition:form-data;name=file\r\n\r\n--b--more\r\n--b\r\n");
  EXPECT_EQ(good.last, Event::kEnd);
  ASSERT_EQ(good.parts.size(), 1u);
  EXPECT_EQ(good.parts[0].name, "file");
  EXPECT_EQ(good.contents[0], "");
  EXPECT_TRUE(good.whole[0]);
}

TEST(Multipart, KnowsWhatIsCutOff) {
  const std::string whole = part("name=file; filename=a", "content") + "--b--";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Taken taken = take_any(whole.substr(0, size));
    EXPECT_EQ(taken.last, Event::kMore) << size;
  }
  EXPECT_EQ(take_any(whole).last, Event::kEnd);
}

TEST(Multipart, ReadsNamesAsTheyAreWritten) {
  const auto name_of = [](const std::string& words) {
    const Taken taken = take_any(part("name=\"file\"; " + words, "") + "--b--");
    return taken.last == Event::kEnd ? taken.parts[0].filename : "(bad)";
  };
  EXPECT_EQ(name_of(R"(filename="a\"b")"), "a\"b");
  EXPECT_EQ(name_of(R"(filename="a\\b")"), "a\\b");
  EXPECT_EQ(name_of(R"(filename="C:\new")"), "C:\\new");
  EXPECT_EQ(name_of(R"(filename="a;b=c")"), "a;b=c");
  EXPECT_EQ(name_of("filename=a%22b"), "a%22b");
  EXPECT_EQ(name_of("filename=plain; filename*=UTF-8''na%C3%AFve%2Fa"), "na\xc3\xafve/a");
  EXPECT_EQ(name_of("FileName=\"x\";"), "x");
  EXPECT_EQ(name_of("filename=\"\xc3\xa4\""), "\xc3\xa4");
  EXPECT_EQ(name_of("filename=\"open"), "(bad)");
  EXPECT_EQ(name_of("filename*=latin1''a"), "(bad)");
  EXPECT_EQ(name_of("filename*=UTF-8''%zz"), "(bad)");
  EXPECT_EQ(name_of("nonsense"), "(bad)");
}

TEST(Multipart, RefusesWhatHasNoBounds) {
  EXPECT_EQ(take_any(std::string(MultipartReader::kMaxPreamble + 100, 'x')).last, Event::kBad);
  EXPECT_EQ(take_any("--b\r\nA: " + std::string(MultipartReader::kMaxHead + 8, 'x')).last,
            Event::kBad);
  EXPECT_EQ(take_any("--b" + std::string(300, ' ')).last, Event::kBad);
  EXPECT_EQ(take_any("--b\r\nno colon\r\n\r\n").last, Event::kBad);
  EXPECT_EQ(take_any("--b\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: "
                     "form-data; name=b\r\n\r\n")
                .last,
            Event::kBad);
}

TEST(Multipart, TakesHeadsBlanksAndPreamblesUpToTheirBounds) {
  const auto with_head = [](std::size_t size) {  // between the boundary and the empty line
    const std::string name = "\r\nA: ";
    return take("--b" + name + std::string(size - name.size(), 'x') + "\r\n\r\n--b--", 1000).last;
  };
  EXPECT_EQ(with_head(MultipartReader::kMaxHead), Event::kEnd);
  EXPECT_EQ(with_head(MultipartReader::kMaxHead + 1), Event::kBad);
  const auto with_blanks = [](std::size_t count) {
    return take("--b" + std::string(count, ' ') + "\r\nA: x\r\n\r\n--b--", 1000).last;
  };
  EXPECT_EQ(with_blanks(256), Event::kEnd);
  EXPECT_EQ(with_blanks(257), Event::kBad);
  const auto with_preamble = [](std::size_t size) {  // with the line break that may come first
    return take_any(std::string(size - 2, 'x') + "\r\n--b--").last;
  };
  EXPECT_EQ(with_preamble(MultipartReader::kMaxPreamble), Event::kEnd);
  EXPECT_EQ(with_preamble(MultipartReader::kMaxPreamble + 1), Event::kBad);
}

TEST(Multipart, FindsTheBoundaryInAContentType) {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data;charset=utf-8; Boundary=\"a b\""), "a b");
  for (const std::string bad :
       {"", "multipart/form-data", "multipart/mixed; boundary=a", "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"a", "multipart/form-data; boundary=\"a \"",
        "multipart/form-data; boundary=\"a\r\"", "application/octet-stream"}) {
    EXPECT_EQ(multipart_boundary(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=" + std::string(201, 'a')),
            std::nullopt);
  const std::string longest(200, 'a');
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=" + longest), longest);
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=\"~ a\""), "~ a");
  for (const char c : {'\x1f', '\x7f', '\x80'}) {
    EXPECT_EQ(multipart_boundary(std::string("multipart/form-data; boundary=\"a") + c + "b\""),
              std::nullopt);
  }
}

}  // namespace
}  // namespace glovebox::http
