#include "launcher/jail/own_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "base/log.h"
#include "sys/file.h"
#include "sys/id_mappers.h"

namespace glovebox::launcher {
namespace {

// Mounts of the host propagate here, so that callers can use them; ours do not propagate back.
Result<> receive_mounts_only() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return fail(Error::from_errno("make the launcher's mounts slaves of the host's"));
  }
  return {};
}

void tell_unused(const Error& why) {
  log::warn("the user's subordinate ids are not used, so sessions have no root inside",
            {{"why", why.message()}});
}

struct OwnIds {
  uid_t uid = ::geteuid();
  gid_t gid = ::getegid();
};

// What is prepared while the host's programs can still be started.
struct Preparation {
  probe::SubordinateIds ids;
  std::optional<sys::IdMappers> mappers;  // none: only the user itself can be mapped
};

Preparation prepare_subordinate_ids(const OwnIds& own, const probe::IdRange& reserved) {
  Preparation prepared;
  auto ids = probe::read_subordinate_ids(reserved);
  if (!ids) {
    if (ids.error().code() != Errc::kNotFound) tell_unused(ids.error());
    return prepared;
  }
  if (!probe::has_id_mappers()) {
    tell_unused(Error(Errc::kUnavailable, "newuidmap is not installed, or has no privileges"));
    return prepared;
  }
  auto mappers = sys::IdMappers::prepare({own.uid, ids->uids.first, ids->uids.count},
                                         {own.gid, ids->gids.first, ids->gids.count});
  if (!mappers) {
    tell_unused(mappers.error());
    return prepared;
  }
  prepared.ids = *ids;
  prepared.mappers.emplace(std::move(*mappers));
  return prepared;
}

Result<> unshare_users() {
  if (::unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0) return {};
  return fail(Error::from_errno("create a user namespace")
                  .context("this host does not let ordinary users create user namespaces (see "
                           "`glovebox doctor`)"));
}

Result<> map_own_user(const OwnIds& own) {
  return sys::write_control(AT_FDCWD, "/proc/self/uid_map", "0 " + std::to_string(own.uid) + " 1");
}

Result<> map_own_group(const OwnIds& own) {
  // Without this the kernel lets only root map groups.
  TRY_OK(sys::write_control(AT_FDCWD, "/proc/self/setgroups", "deny"));
  return sys::write_control(AT_FDCWD, "/proc/self/gid_map", "0 " + std::to_string(own.gid) + " 1");
}

}  // namespace

Result<> enter_own_mount_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) return fail(Error::from_errno("create a mount namespace"));
  return receive_mounts_only();
}

Result<> enter_own_user_namespace() {
  const OwnIds own;
  TRY_OK(unshare_users());
  TRY_OK(map_own_user(own));
  TRY_OK(map_own_group(own));
  return receive_mounts_only();
}

Result<probe::SubordinateIds> enter_with_subordinate_ids(const probe::IdRange& reserved) {
  const OwnIds own;
  Preparation prepared = prepare_subordinate_ids(own, reserved);
  TRY_OK(unshare_users());
  // A map can be written once. What newuidmap has not written, we write as well as we may.
  Result<> uids = prepared.mappers ? prepared.mappers->write_uids() : Result<>();
  if (!prepared.mappers || !uids) TRY_OK(map_own_user(own));
  Result<> gids = prepared.mappers && uids ? prepared.mappers->write_gids() : Result<>();
  const bool mapped = prepared.mappers && uids && gids;
  if (!mapped) TRY_OK(map_own_group(own));
  if (!uids) tell_unused(uids.error());
  if (!gids) tell_unused(gids.error());
  TRY_OK(receive_mounts_only());
  return mapped ? prepared.ids : probe::SubordinateIds{};
}

}  // namespace glovebox::launcher
