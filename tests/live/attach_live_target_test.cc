// LiveTarget on real processes that are stuck in known ways.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "attach/files/open_mapped.h"
#include "attach/live_target.h"
#include "attach/mapping_query.h"
#include "attach/proc_maps.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "base/write_file.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

using oddrank::Errc;
using oddrank::attach::Addr;
using oddrank::attach::LiveTarget;
using oddrank::attach::Mapping;
using oddrank::attach::MappingQuery;
using oddrank::attach::read_object;
using oddrank::attach::read_proc_maps;
using oddrank::attach::ReadRequest;
using oddrank::attach::ThreadState;
using oddrank::test::kPauseCall;
using oddrank::test::Victim;
using oddrank::test::victim_path;

namespace {

// A victim "blocked MODE" that has printed the address of its object.
struct Stuck {
  Victim victim;
  Addr address{};
  std::uint64_t value = 0;
  pid_t number = 0;
};

Stuck start_stuck(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{victim_path("blocked")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto victim = Victim::start(command);
  REQUIRE(victim);
  const auto line = victim->wait_line("ready");
  REQUIRE(line);
  const auto words = oddrank::split_blanks(*line);
  REQUIRE(words.size() == 3);
  return Stuck{*std::move(victim), Addr{oddrank::parse_number<std::uint64_t>(words[0], 16).value()},
               oddrank::parse_number<std::uint64_t>(words[1], 16).value(),
               oddrank::parse_number<pid_t>(words[2]).value()};
}

std::unique_ptr<LiveTarget> open_target(pid_t pid) {
  auto target = LiveTarget::open(pid);
  REQUIRE(target);
  return *std::move(target);
}

}  // namespace

TEST_CASE("memory reads as the victim wrote it") {
  const Stuck stuck = start_stuck({"pause"});
  const auto target = open_target(stuck.victim.pid());
  CHECK(target->name() == "blocked");
  const auto value = read_object<std::uint64_t>(*target, stuck.address);
  REQUIRE(value);
  CHECK(*value == stuck.value);
}

TEST_CASE("memory that is not mapped is an error, not a crash") {
  const Stuck stuck = start_stuck({"pause"});
  const auto target = open_target(stuck.victim.pid());
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0} - 7,
                                      std::uint64_t{0x8000000000000000U}}) {
    const auto value = read_object<std::uint64_t>(*target, Addr{address});
    INFO(address);
    REQUIRE_FALSE(value);
    CHECK(value.error().code == Errc::kBadData);
    CHECK(value.error().what.find("pid " + std::to_string(stuck.victim.pid())) !=
          std::string::npos);
  }
}

TEST_CASE("many reads: each returns what it got, bad ones between good ones") {
  const Stuck stuck = start_stuck({"pause"});
  const auto target = open_target(stuck.victim.pid());
  std::vector<std::uint64_t> values(3000, 0);
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool bad = i % 7 == 3;
    requests.push_back(ReadRequest{bad ? Addr{i} : stuck.address,
                                   std::as_writable_bytes(std::span(&values[i], 1)), 99});
  }
  target->read_many(requests);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool bad = i % 7 == 3;
    REQUIRE(requests[i].got == (bad ? 0 : 8));
    REQUIRE(values[i] == (bad ? 0 : stuck.value));
  }
  target->read_many({});
}

TEST_CASE("a read across the end of a mapping returns the part that is mapped") {
  const Stuck stuck = start_stuck({"pause"});
  const auto target = open_target(stuck.victim.pid());
  const auto& all = target->maps().listed();
  const auto stack = std::find_if(all.begin(), all.end(),
                                  [](const Mapping& mapping) { return mapping.path == "[stack]"; });
  REQUIRE(stack != all.end());
  std::array<std::byte, 8192> bytes{};
  ReadRequest request{Addr{stack->end - 4096}, bytes};
  target->read_many(std::span(&request, 1));
  CHECK(request.got == 4096);
  CHECK_FALSE(target->read(Addr{stack->end - 4096}, bytes));
}

// Queries mappings one by one if the kernel can (6.11 and later), reads them as text otherwise.
TEST_CASE("every mapping of a process is found as /proc/PID/maps lists it") {
  const Stuck stuck = start_stuck({"pause"});
  const auto target = open_target(stuck.victim.pid());
  const auto text = read_proc_maps(stuck.victim.pid());
  REQUIRE(text);
  REQUIRE(text->listed().size() > 10);
  for (const Mapping& known : text->listed()) {
    CAPTURE(known.path, known.start);
    if (known.path == "[vsyscall]") {
      continue;  // the kernel's own, which no query finds
    }
    const Mapping* const found = target->maps().find(Addr{known.end - 1});
    REQUIRE(found != nullptr);
    CHECK(found->start == known.start);
    CHECK(found->end == known.end);
    CHECK(found->path == known.path);
    CHECK(found->deleted == known.deleted);
    CHECK(found->file_offset == known.file_offset);
    CHECK(found->inode == known.inode);
    CHECK(found->device == known.device);
    CHECK(found->readable == known.readable);
    CHECK(found->writable == known.writable);
    CHECK(found->executable == known.executable);
    CHECK(found->shared == known.shared);
  }
  const auto& listed = target->maps().listed();
  for (const std::string path : {"[vdso]", "[stack]"}) {
    CHECK(std::any_of(listed.begin(), listed.end(),
                      [&path](const Mapping& mapping) { return mapping.path == path; }));
  }
  // A new kernel was queried: anonymous memory is not listed.
  const auto query = MappingQuery::open(stuck.victim.pid());
  CHECK((query || query.error().code == Errc::kUnsupported));
  if (query) {
    CHECK(listed.size() < text->listed().size());
    CHECK_FALSE((*query)->at(Addr{8}));
  }
}

TEST_CASE("blocked threads have call, sp and pc") {
  const auto check = [](const ThreadState& state, long number) {
    CHECK(state.state == 'S');
    REQUIRE(state.syscall);
    CHECK(state.syscall->number == number);
    REQUIRE(state.registers);
    CHECK(state.registers->sp != 0);
    CHECK(state.registers->pc != 0);
  };
  SECTION("pause") {
    const Stuck stuck = start_stuck({"pause"});
    REQUIRE(stuck.victim.wait_syscall(kPauseCall));
    const auto target = open_target(stuck.victim.pid());
    const auto threads = target->threads();
    REQUIRE(threads);
    REQUIRE(threads->size() == 1);
    check(threads->at(0), kPauseCall);
    const auto* stack = target->maps().find(Addr{threads->at(0).registers->sp});
    REQUIRE(stack != nullptr);
    CHECK(stack->path == "[stack]");
    const auto* code = target->maps().find(Addr{threads->at(0).registers->pc});
    REQUIRE(code != nullptr);
    CHECK(code->executable);
  }
  SECTION("read of a pipe") {
    const Stuck stuck = start_stuck({"read"});
    REQUIRE(stuck.victim.wait_syscall(SYS_read));
    const auto state = open_target(stuck.victim.pid())->thread(stuck.victim.pid());
    REQUIRE(state);
    check(*state, SYS_read);
    CHECK(state->syscall->arguments[0] == 0);
  }
  SECTION("mutex in a second thread") {
    const Stuck stuck = start_stuck({"futex"});
    REQUIRE(stuck.victim.wait_syscall(SYS_futex, stuck.number));
    const auto threads = open_target(stuck.victim.pid())->threads();
    REQUIRE(threads);
    REQUIRE(threads->size() == 2);
    CHECK(threads->at(0).tid == stuck.victim.pid());
    CHECK(threads->at(0).name == "blocked");
    CHECK(threads->at(1).tid == stuck.number);
    CHECK(threads->at(1).name == "waiter");
    check(threads->at(1), SYS_futex);
    CHECK(threads->at(1).voluntary_switches > 0);
  }
}

TEST_CASE("a sleeping thread does not move between two reads, a running one does") {
  const Stuck stuck = start_stuck({"pause"});
  REQUIRE(stuck.victim.wait_syscall(kPauseCall));
  const auto target = open_target(stuck.victim.pid());
  const auto first = target->thread(stuck.victim.pid());
  const auto second = target->thread(stuck.victim.pid());
  REQUIRE(second);
  CHECK(first->voluntary_switches == second->voluntary_switches);
  CHECK(first->cpu_us == second->cpu_us);

  const Stuck busy = start_stuck({"spin"});
  REQUIRE(busy.victim.wait_state("R"));
  const auto running = open_target(busy.victim.pid())->thread(busy.victim.pid());
  REQUIRE(running);
  CHECK(running->state == 'R');
  CHECK_FALSE(running->registers);
}

TEST_CASE("a process in state D is read without waiting for it") {
  const Stuck stuck = start_stuck({"vfork"});
  REQUIRE(stuck.victim.wait_state("D"));
  const auto target = open_target(stuck.victim.pid());
  const auto value = read_object<std::uint64_t>(*target, stuck.address);
  REQUIRE(value);
  CHECK(*value == stuck.value);
  const auto threads = target->threads();
  REQUIRE(threads);
  CHECK(threads->at(0).state == 'D');
  CHECK(threads->at(0).registers);
}

TEST_CASE("a zombie cannot be read, and the error says that it is one") {
  const Stuck stuck = start_stuck({"zombie"});
  REQUIRE(stuck.victim.wait_state("Z", stuck.number));
  const auto target = LiveTarget::open(stuck.number);
  REQUIRE_FALSE(target);
  CHECK(target.error().code == Errc::kGone);
  CHECK(target.error().what.find("zombie") != std::string::npos);
}

TEST_CASE("a process that exits while it is read is gone, not unreadable") {
  Stuck stuck = start_stuck({"exit"});
  const auto target = open_target(stuck.victim.pid());
  REQUIRE_FALSE(target->maps().listed().empty());
  REQUIRE(stuck.victim.send("x"));
  REQUIRE(stuck.victim.wait_end());
  const auto value = read_object<std::uint64_t>(*target, stuck.address);
  REQUIRE_FALSE(value);
  CHECK(value.error().code == Errc::kGone);
  CHECK(target->threads().error().code == Errc::kGone);
}

TEST_CASE("reading leaves the victim as it was") {
  Stuck stuck = start_stuck({"read"});
  REQUIRE(stuck.victim.wait_syscall(SYS_read));
  {
    const auto target = open_target(stuck.victim.pid());
    for (int i = 0; i < 100; ++i) {
      REQUIRE(read_object<std::uint64_t>(*target, stuck.address));
      REQUIRE(target->threads());
    }
    CHECK(target->thread(stuck.victim.pid())->state == 'S');
    CHECK(target->thread(stuck.victim.pid())->tracer == 0);
  }
  REQUIRE(stuck.victim.send("x"));
  const auto status = stuck.victim.wait_end();
  REQUIRE(status);
  CHECK(*status == 0);
}

TEST_CASE("the file behind a mapping opens, even if it was deleted") {
  // A copy of the victim's program, which can be deleted under it.
  const std::string copy = "/tmp/oddrank-test-" + std::to_string(::getpid()) + "-deleted";
  const auto bytes = oddrank::read_file(victim_path("blocked"));
  REQUIRE(bytes);
  REQUIRE(oddrank::write_file(copy, *bytes));
  REQUIRE(::chmod(copy.c_str(), 0755) == 0);
  auto victim = Victim::start({copy, "pause"});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  const auto target = open_target(victim->pid());
  const auto program = [&] {
    const auto now = open_target(victim->pid());
    for (const Mapping& mapping : now->maps().listed()) {
      if (mapping.path == copy) {
        return mapping;
      }
    }
    return Mapping{};
  };
  struct stat before {};
  const auto open = target->open_file(program());
  REQUIRE(open);
  REQUIRE(::fstat(open->get(), &before) == 0);
  CHECK(before.st_ino == program().inode);

  REQUIRE(::unlink(copy.c_str()) == 0);
  CHECK(program().deleted);
  CHECK(program().path == copy);
  const auto deleted = target->open_file(program());
  if (deleted) {
    struct stat after {};
    REQUIRE(::fstat(deleted->get(), &after) == 0);
    CHECK(after.st_ino == before.st_ino);
  } else {
    CHECK(deleted.error().code == Errc::kNotFound);  // no CAP_CHECKPOINT_RESTORE
    CHECK(::geteuid() != 0);
  }
}

TEST_CASE("devices, FIFOs and non-files are never opened") {
  const Stuck stuck = start_stuck({"pause"});
  const auto target = open_target(stuck.victim.pid());
  Mapping mapping;
  mapping.path = "[heap]";
  CHECK(target->open_file(mapping).error().code == Errc::kNotFound);
  mapping.path = "";
  CHECK(target->open_file(mapping).error().code == Errc::kNotFound);
  mapping.path = "/dev/null";
  CHECK(target->open_file(mapping).error().code == Errc::kUnsupported);
  const std::string fifo = "/tmp/oddrank-test-" + std::to_string(::getpid()) + "-fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  mapping.path = fifo;
  CHECK(target->open_file(mapping).error().code == Errc::kUnsupported);
  ::unlink(fifo.c_str());
  mapping.path = "/no/such/file";
  CHECK(target->open_file(mapping).error().code == Errc::kNotFound);
}

TEST_CASE("an invalid pid is a usage error") {
  CHECK(LiveTarget::open(0).error().code == Errc::kUsage);
  CHECK(LiveTarget::open(-1).error().code == Errc::kUsage);
}

TEST_CASE("a read that never returns times out, and the victim goes on") {
  auto victim = Victim::start({victim_path("blocked"), "tarpit"});
  REQUIRE(victim);
  const auto line = victim->wait_line("ready");
  if (!line) {
    ODDRANK_SKIP("this machine does not allow userfaultfd");
  }
  const auto words = oddrank::split_blanks(*line);
  const Addr address{oddrank::parse_number<std::uint64_t>(words[0], 16).value()};
  oddrank::IsolatedTask task;
  task.run = [&](int fd) {
    const auto target = LiveTarget::open(victim->pid());
    const auto threads = (*target)->threads();
    oddrank::send_bytes(fd, std::to_string(threads->size()));
    static_cast<void>(read_object<std::uint64_t>(**target, address));
    oddrank::send_bytes(fd, "came back");
  };
  // The reader must get that far before the deadline; on a loaded machine that may take several
  // tries.
  std::string bytes;
  for (const int milliseconds : {300, 3000, 20000}) {
    task.timeout = std::chrono::milliseconds(milliseconds);
    const auto results = oddrank::run_isolated({task}, 1);
    CHECK(results[0].end == oddrank::IsolatedEnd::kDeadline);
    bytes = results[0].bytes;
    if (!bytes.empty()) {
      break;
    }
  }
  CHECK(bytes == "1");
  CHECK(victim->wait_state("S"));
}
