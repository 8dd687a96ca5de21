#include "wire/guest/job.h"

#include "wire/byte_codec.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::wire {
namespace {

constexpr std::string_view kMagic = "GBXJOB1\n";

}  // namespace

std::string encode_job(const Job& job) {
  ByteWriter writer;
  writer.texts(job.env);
  writer.texts(job.args);
  writer.text(job.workdir);
  writer.text(job.name);
  writer.text(job.code);
  const std::vector<std::byte> bytes = writer.take();
  std::string text(kMagic);
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

std::string encode_shared_call(const std::vector<std::string>& args, std::string_view input) {
  ByteWriter writer;
  writer.texts(args);
  writer.text(input);
  const std::vector<std::byte> bytes = writer.take();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string record;
  record.reserve(4 + bytes.size());
  for (unsigned shift = 0; shift < 32; shift += 8) {
    record.push_back(static_cast<char>(size >> shift & 0xff));
  }
  record.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return record;
}

Result<Job> decode_job(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) return fail(Errc::kProtocol, "not a job");
  bytes.remove_prefix(kMagic.size());
  ByteReader from(std::as_bytes(std::span(bytes)));
  Job job;
  job.env = from.texts(kMaxExecStrings, kMaxExecBytes);
  job.args = from.texts(kMaxExecStrings, kMaxExecBytes);
  job.workdir = from.text(kMaxExecBytes);
  job.name = from.text(kMaxExecBytes);
  job.code = from.text(kMaxJobBytes);
  if (!from.finished()) return fail(Errc::kProtocol, "malformed job");
  return job;
}

}  // namespace glovebox::wire
