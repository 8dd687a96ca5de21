// Output of a sandbox as the content of a result: texts cut to a bound, images whose bytes match
// their type. None of it is trusted: it is checked, bounded and made UTF-8.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/memory_budget.h"
#include "dialects/mcp/call_stream.h"
#include "dialects/mcp/truncated_text.h"
#include "node/runs/run_job.h"
#include "sessions/contexts/context_table.h"

namespace glovebox::mcp {

inline constexpr std::size_t kMaxImages = 8;             // in one result
inline constexpr std::size_t kMaxImageBytes = 4u << 20;  // of one, before base64

boost::json::object image_block(std::string base64, std::string_view type);

// Receives what a call prints and shows.
class CallSink final : public node::RunSink {
 public:
  // `memory_budget` and `stream` are borrowed and outlive this. `owner`: a project.
  CallSink(std::size_t max_output, MemoryBudget& memory_budget, std::string owner,
           CallStream& stream)
      : out(max_output),
        err(max_output),
        memory_budget_(memory_budget),
        owner_(std::move(owner)),
        stream_(stream) {}
  ~CallSink() override { memory_budget_.release(owner_, kept_); }
  CallSink(const CallSink&) = delete;
  CallSink& operator=(const CallSink&) = delete;

  asio::awaitable<bool> on_output(bool is_stderr, std::string_view bytes) override;
  // False, which ends the run, when the server has no room for its results.
  asio::awaitable<bool> on_result(std::string_view line) override;

  TruncatedText out;
  TruncatedText err;

 private:
  MemoryBudget& memory_budget_;
  const std::string owner_;
  CallStream& stream_;
  std::uint64_t kept_ = 0;
};

// Text first, then results in the order in which they were shown, then the value or the error. All
// text together has at most `limit` bytes, and short notes that say what was left out; the value
// and the error have their part of it however much was printed and shown.
boost::json::array cell_content(const sessions::CellReport& report, const CallSink& sink,
                                std::size_t limit);
bool has_failed(const sessions::CellReport& report);

}  // namespace glovebox::mcp
