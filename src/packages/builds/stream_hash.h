// Incremental SHA-256.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace glovebox::packages {

class StreamHash {
 public:
  StreamHash();
  void add(std::string_view bytes);
  std::string hex();  // call once, after the last add()

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace glovebox::packages
