// Serves servers' requests about layers: keep one that a sandbox has made, change its note, list
// all, drop one. Keeping and dropping may have to wait for a sandbox to end or for the disk; the
// reply is sent when it is done, and nothing blocks the launcher's thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/layers/disk_tasks.h"
#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/client_connections.h"
#include "launcher/server/sandbox_table.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

class LayerRequests {
 public:
  LayerRequests(SandboxMaker& maker, ClientConnections& clients, SandboxTable& sandboxes)
      : maker_(maker), clients_(clients), sandboxes_(sandboxes) {}

  void keep(Client& client, wire::KeepLayer request);
  void note(Client& client, wire::NoteLayer request);
  void drop(Client& client, const wire::DropLayer& request);
  void list(Client& client, std::uint32_t seq);
  void continue_listing(Client& client);

  // Continues with what had to wait, and replies where it is done.
  void advance();
  // Removes layers that were begun and not kept, and ends sandboxes that fill the disk.
  void tidy(Clock::time_point now);
  void client_gone(Client& client);
  // At the end of the launcher: no reply is sent any more.
  void shut_down();

  void add_events(std::vector<pollfd>& events) const;
  std::optional<Clock::time_point> next_check() const;

 private:
  struct PendingKeep {
    Client* client = nullptr;
    std::uint32_t seq = 0;
    LayerRecord record;
    Clock::time_point deadline{};
    std::optional<DiskTask> sync{};
  };
  struct PendingDrop {
    Client* client = nullptr;
    std::uint32_t seq = 0;
    std::string id;
    Clock::time_point deadline{};
  };
  bool check_is_server(Client& client, std::uint32_t seq);
  // Nothing: it is not done yet.
  std::optional<Result<>> try_keep(PendingKeep& keep, Clock::time_point now);
  std::optional<Result<>> try_drop(const PendingDrop& drop, Clock::time_point now);
  bool is_being_kept(const std::string& id) const;
  bool is_anything_ending() const;

  SandboxMaker& maker_;
  ClientConnections& clients_;
  SandboxTable& sandboxes_;
  std::list<PendingKeep> keeps_;
  std::list<PendingDrop> drops_;
};

}  // namespace glovebox::launcher
