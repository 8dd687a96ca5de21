// The server's parser of what a file helper, which runs among hostile guests, tells of files.
#include <string>

#include "fuzz_target.h"
#include "wire/guest/file_records.h"

namespace {

using namespace glovebox;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
std::vector<std::byte> without_length(const T& value) {
  const std::string record = wire::encode_record(value);
  fuzz::promise(record.size() <= 4 + wire::kMaxFileRecord, "a record is within its bound");
  const auto* bytes = reinterpret_cast<const std::byte*>(record.data());
  return {bytes + 4, bytes + record.size()};
}

// However a stream is cut, the same records come of it.
void stream_is_cut_the_same(std::string_view bytes) {
  wire::RecordReader whole, pieces;
  whole.add(bytes);
  std::vector<std::string> once, twice;
  bool whole_good = true, pieces_good = true;
  for (;;) {
    const auto record = whole.next();
    whole_good = record.has_value();
    if (!record || !*record) break;
    once.push_back(**record);
  }
  for (std::size_t at = 0; at < bytes.size() && pieces_good; at += 3) {
    pieces.add(bytes.substr(at, 3));
    for (;;) {
      const auto record = pieces.next();
      pieces_good = record.has_value();
      if (!record || !*record) break;
      twice.push_back(**record);
    }
  }
  fuzz::promise(whole_good == pieces_good, "good or bad, however it arrives");
  fuzz::promise(once == twice, "the same records, however they arrive");
  fuzz::promise(!whole_good || whole.empty() == pieces.empty(), "and the same rest");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_file_entry(text_of(bytes)); },
      [](const wire::FileEntry& entry) { return without_length(entry); });
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_watch_event(text_of(bytes)); },
      [](const wire::WatchEvent& event) { return without_length(event); });
  stream_is_cut_the_same(text_of(fuzz::bytes_of(data, size)));
  return 0;
}
