// Has jails made, several at a time, in the nurseries of their templates. A warm jail has its
// template's runtime waiting inside.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/nursery/template_nurseries.h"
#include "launcher/jail/jail_setup.h"
#include "launcher/layers/layer_store.h"
#include "launcher/policy/policy.h"
#include "launcher/jail/root_builder.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/sandbox/slices.h"
#include "launcher/state_dir.h"

namespace glovebox::launcher {

class JailMaker {
 public:
  struct Parts {
    std::string layers_dir;
    bool rootless = false;
    ZygoteBounds zygotes;
    // Of the whole launcher, and made before the first jail.
    const Policy* policy = nullptr;
    const sys::CgroupRoots* roots = nullptr;
    const StateDir* state = nullptr;
    const UniqueFd* agent = nullptr;
    std::optional<SliceBlock>* slices = nullptr;
    std::function<Result<>()> prepare_users;  // fills the two above
    LayerShelf* shelf = nullptr;
  };
  explicit JailMaker(Parts parts);
  JailMaker(const JailMaker&) = delete;
  JailMaker& operator=(const JailMaker&) = delete;

  Broods& broods() { return broods_; }
  const Broods& broods() const { return broods_; }

  // Begins a jail; what becomes of it is told by take_made(), under the wish's ticket.
  void begin(JailWish wish);
  // Goes on with all that are under way.
  void advance();
  struct Made {
    std::uint64_t ticket = 0;
    Result<Sandbox> sandbox;  // taken at once, waiting, or, if its runtime has yet to join, joining
  };
  std::vector<Made> take_made();
  std::size_t under_way() const { return births_.size(); }
  void add_events(std::vector<pollfd>& events) const;
  std::optional<Clock::time_point> next_deadline() const;
  // Of zygotes and nurseries that were ended.
  Remains& remains() { return remains_; }

  // One jail for programs made ahead, never used before, for whoever comes next. Only once there
  // has been a first one: a launcher that nobody uses holds nothing.
  bool wants_spare() const {
    return broods_.has_plain_nursery() && !spare_ && can_make_spares_ && births_.empty();
  }
  void make_spare();
  void drop_spare();
  // The host's files are others now.
  Result<> renew_files();
  void shut_down();

 private:
  static constexpr std::uint64_t kSpareTicket = ~0ull;

  Result<Nursery> start_nursery();
  Result<> may_have_zygote(const Template& description) const;
  Result<Zygote> start_zygote(const Template& description, Nursery& nursery, ZygoteUids::Held uid);
  Result<> prepare_place();
  Result<> prepare_files();
  JailMaking making();
  bool take_spare(JailWish& wish);
  void start(JailWish wish, bool again);
  void finish(JailBirth& birth, Result<bool> done);

  Parts parts_;
  bool in_own_namespace_ = false;
  std::optional<RootBuilder> files_;
  // Removable only when the nurseries, which are in it, are gone.
  std::optional<sys::CgroupFamily> family_;
  Remains remains_;
  Broods broods_;
  std::list<JailBirth> births_;
  std::vector<Made> made_;
  std::optional<Sandbox> spare_;
  bool can_make_spares_ = true;
};

}  // namespace glovebox::launcher
