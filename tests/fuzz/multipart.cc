// A form of an untrusted client. However the bytes are cut, the same parts come out, and little is
// kept.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_target.h"
#include "http/multipart.h"

namespace {

using glovebox::http::MultipartReader;
using Event = MultipartReader::Event;

struct Outcome {
  std::vector<MultipartReader::Part> parts;
  std::vector<std::string> contents;
  std::size_t ended = 0;
  Event last = Event::kMore;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view body, std::size_t piece) {
  using namespace glovebox;
  MultipartReader reader("b");
  Outcome out;
  while (true) {
    const Event event = reader.next();
    if (event == Event::kMore) {
      if (body.empty()) return out;
      reader.add(body.substr(0, piece));
      body.remove_prefix(std::min(body.size(), piece));
    } else if (event == Event::kPart) {
      fuzz::promise(out.ended == out.parts.size(), "a part begins when the one before has ended");
      out.parts.push_back(reader.part());
      out.contents.emplace_back();
    } else if (event == Event::kData) {
      fuzz::promise(!reader.data().empty() && !out.parts.empty(), "there are bytes, of a part");
      out.contents.back() += reader.data();
    } else if (event == Event::kPartEnd) {
      ++out.ended;
      fuzz::promise(out.ended == out.parts.size(), "a part ends once");
    } else {
      out.last = event;
      fuzz::promise(reader.next() == event, "and stays so");
      return out;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)http::multipart_boundary(text);
  const Outcome whole = read(text, size);
  fuzz::promise(whole == read(text, 1), "byte by byte it is the same");
  fuzz::promise(whole == read(text, 1 + data[0] % 16), "and in pieces");
  // What is written as one part comes out of it, unless it has a boundary of its own.
  if (text.find("\r\n--b") != std::string_view::npos || text.starts_with("--b")) return 0;
  const std::string form = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n" +
                           std::string(text) + "\r\n--b--\r\n";
  const Outcome one = read(form, 5);
  fuzz::promise(one.last == Event::kEnd && one.contents.size() == 1 && one.contents[0] == text,
                "a part is what was put into it");
  return 0;
}
