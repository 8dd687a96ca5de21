// Implements TemplateService: each definition is sent to the launcher, and again to every later
// one. A template that a launcher refuses is kept with the reason, and sent again when the status
// of its base changes. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/pools/sandbox_allocator.h"
#include "node/templates/template_service.h"

namespace glovebox::node {

class DynamicTemplates final : public TemplateService {
 public:
  DynamicTemplates(boost::asio::io_context& io, SandboxAllocator& allocator,
                   std::chrono::milliseconds patience)
      : io_(io), allocator_(allocator), launcher_(allocator.launcher()), patience_(patience) {}
  // What keeps this object during a call.
  void keep_alive_with(std::function<std::shared_ptr<void>()> hold) { hold_ = std::move(hold); }

  // A launcher was attached.
  void send_all();
  void on_template(const TemplateStatus& status);

  void keep(std::vector<TemplateDefinition> definitions) override;
  Task<> define(TemplateDefinition definition) override;
  void set_pools(const std::string& id, TemplatePools pools) override {
    allocator_.set_template_pools(id, std::move(pools));
  }
  void forget(const std::string& id) override;
  const TemplateStatus* find(std::string_view id) const override;
  bool settled() const override;
  std::optional<Error> refusal_of(std::string_view id) const override;

 private:
  struct Entry {
    TemplateDefinition definition;
    std::uint64_t asked = 0;  // number of the last request to the launcher; zero: none
    bool answered = false;
    std::optional<Error> refusal{};
  };
  void send(Entry& entry);
  void answered(const std::string& id, std::uint64_t request, const Result<>& done);

  boost::asio::io_context& io_;
  SandboxAllocator& allocator_;
  LauncherLink& launcher_;
  const std::chrono::milliseconds patience_;
  std::function<std::shared_ptr<void>()> hold_ = [] { return nullptr; };
  std::map<std::string, Entry, std::less<>> all_;  // by id
  std::uint64_t requests_ = 0;
  std::uint64_t launchers_ = 0;
};

}  // namespace glovebox::node
