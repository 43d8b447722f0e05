#include "waits/thread_wait.h"

namespace oddrank::waits {

snapshot::Wait to_capture(const ThreadWait& from, snapshot::Tables& tables) {
  snapshot::Wait wait;
  wait.on = from.on;
  wait.inferred = from.inferred;
  wait.syscall = from.syscall;
  wait.syscall_name = tables.string(from.syscall_name);
  wait.wchan = tables.string(from.wchan);
  wait.fd = from.fd;
  wait.path = tables.string(from.path);
  wait.address = from.address;
  wait.holder_pid = from.holder_pid;
  wait.holder_tid = from.holder_tid;
  wait.holder_alive = from.holder_alive;
  wait.how = from.how;
  wait.limited = from.limited;
  wait.limit_ms = from.limit_ms;
  wait.lock = from.lock;
  for (const NamedFile& file : from.awaited) {
    wait.awaited.emplace_back();
    wait.awaited.back().fd = file.fd;
    wait.awaited.back().link = tables.string(file.link);
  }
  wait.awaited_count = from.awaited_count;
  wait.own_wakers = from.own_wakers;
  wait.key = tables.string(from.key);
  wait.detail = tables.string(from.detail);
  wait.notes = tables.string(from.notes);
  return wait;
}

}  // namespace oddrank::waits
