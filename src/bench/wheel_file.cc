#include "bench/wheel_file.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/hex.h"

namespace glovebox::bench {
namespace {

constexpr std::uint16_t kDate = 1 << 5 | 1;  // 1 January 1980, so that wheels are reproducible

std::string little(std::uint32_t value, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::string sha256_of(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned size = digest.size();
  ::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, ::EVP_sha256(), nullptr);
  return hex_encode(digest);
}

class Zip {
 public:
  void add(const std::string& name, std::string_view bytes) {
    const std::uint32_t at = static_cast<std::uint32_t>(files_.size());
    const auto size = static_cast<std::uint32_t>(bytes.size());
    // The fields from "version needed" to the name length are the same in both headers.
    const std::string facts = little(20, 2) + little(0, 2) + little(0, 2) + little(0, 2) +
                              little(kDate, 2) + little(crc_of(bytes), 4) + little(size, 4) +
                              little(size, 4) + little(static_cast<std::uint32_t>(name.size()), 2) +
                              little(0, 2);
    files_ += "PK\3\4" + facts + name;
    files_ += bytes;
    directory_ += "PK\1\2" + little(3 << 8 | 20, 2) + facts + little(0, 2) + little(0, 2) +
                  little(0, 2) + little(0100644u << 16, 4) + little(at, 4) + name;
    ++count_;
  }
  std::string end() && {
    const auto at = static_cast<std::uint32_t>(files_.size());
    const auto size = static_cast<std::uint32_t>(directory_.size());
    return std::move(files_) + directory_ + "PK\5\6" + little(0, 4) + little(count_, 2) +
           little(count_, 2) + little(size, 4) + little(at, 4) + little(0, 2);
  }

 private:
  std::string files_;
  std::string directory_;
  std::uint32_t count_ = 0;
};

}  // namespace

Wheel make_wheel(const std::string& name, std::string_view source) {
  const std::string info = name + "-1.0.dist-info/";
  const std::string module = name + ".py";
  Zip zip;
  zip.add(module, source);
  zip.add(info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n");
  zip.add(info + "WHEEL",
          "Wheel-Version: 1.0\nGenerator: glovebox-bench\nRoot-Is-Purelib: true\n"
          "Tag: py3-none-any\n");
  zip.add(info + "RECORD",
          module + ",,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n");
  Wheel wheel;
  wheel.file = name + "-1.0-py3-none-any.whl";
  wheel.bytes = std::move(zip).end();
  wheel.sha256 = sha256_of(wheel.bytes);
  return wheel;
}

}  // namespace glovebox::bench
