// The reader of archives, which any client may have uploaded, in the file helper and in the server.
#include <algorithm>
#include <string>

#include "fuzz_target.h"
#include "guest/agent/files/tar_writer.h"
#include "guest/agent/files/unpacker.h"
#include "wire/tar/tar_reader.h"

namespace {

using namespace glovebox;

wire::TarReader reader_of(std::string_view bytes, std::size_t piece) {
  return wire::TarReader([bytes, piece](char* to, std::size_t size) mutable {
    const std::size_t some = std::min({size, bytes.size(), piece});
    std::copy_n(bytes.data(), some, to);
    bytes.remove_prefix(some);
    return Result<std::size_t>(some);
  });
}

// What was read can be written, and reads the same.
void comes_back(const wire::TarEntry& entry) {
  if (entry.type == wire::TarType::kOther) return;
  const std::string header = agent::tar_header(entry);
  fuzz::promise(header.size() % wire::kTarBlock == 0, "headers are whole blocks");
  if (header.size() > wire::TarReader::kMaxExtra) return;
  const auto again = reader_of(header, 4096).next();
  fuzz::promise(again.has_value() && again->has_value(), "what was written is read");
  fuzz::promise(**again == entry, "as the same entry");
}

void stays_inside(const std::string& name) {
  fuzz::promise(name.find('\0') == std::string::npos, "a name is a name");
  const auto clean = agent::clean_name(name);
  if (!clean) return;
  fuzz::promise(!clean->starts_with('/') && !clean->ends_with('/'), "never absolute");
  const std::string framed = "/" + *clean + "/";
  fuzz::promise(framed.find("/../") == std::string::npos, "never upwards");
  fuzz::promise(*agent::clean_name(*clean) == *clean, "and clean for ever");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::reset_allocated();
  wire::TarReader reader = reader_of(bytes, 700);
  std::vector<wire::TarEntry> entries;
  for (;;) {
    auto entry = reader.next();
    if (!entry || !*entry) break;
    entries.push_back(std::move(**entry));
    char content[300];
    const auto got = reader.read(content, sizeof content);
    if (got) fuzz::promise(*got <= entries.back().size, "no more content than was said");
  }
  fuzz::promise(fuzz::allocated() <= 64 * 1024 + 64 * size, "allocates no more than it was given");
  fuzz::promise(reader.bytes_read() <= size, "reads no more than there is");
  for (const wire::TarEntry& entry : entries) {
    stays_inside(entry.name);
    comes_back(entry);
  }
  return 0;
}
