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
  snapshot::RareWaitFacts rare;
  for (const NamedFile& file : listed_files(from.awaited)) {
    snapshot::AwaitedFile& row = rare.awaited.emplace_back();
    row.fd = file.fd;
    row.link = tables.string(file.link);
    row.tells_end = file.tells_end;
  }
  for (const std::string& link : from.kept) {
    rare.kept.emplace_back();
    rare.kept.back().link = tables.string(link);
  }
  rare.awaited_count = from.awaited_count;
  rare.awaited_ends = from.awaited_ends;
  rare.own_wakers = from.own_wakers;
  rare.feeds_loop = from.feeds_loop;
  rare.key = tables.string(from.key);
  rare.asked = from.asked;
  wait.detail = tables.string(from.detail);
  rare.notes = tables.string(from.notes);
  wait.rare = std::move(rare);
  return wait;
}

}  // namespace oddrank::waits
