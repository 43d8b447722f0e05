// Reads a real Python through damaged memory: stacks may be wrong or short, but the reader neither
// crashes nor loops.
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "attach/live_target.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "tests/live/python_interpreters.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank {
namespace {

// Flips bytes in another target's reads; their places and number depend on the seed alone. Harmless
// while `rate` is 0.
class DamagedTarget final : public attach::Target {
 public:
  explicit DamagedTarget(const attach::Target& sound) : sound_(sound) {}

  // Replaces about one byte in `rate`.
  void damage(unsigned seed, std::size_t rate) {
    random_.seed(seed);
    rate_ = rate;
  }

  pid_t pid() const override { return sound_.pid(); }
  const std::string& name() const override { return sound_.name(); }
  Status read(attach::Addr address, std::span<std::byte> into) const override {
    Status status = sound_.read(address, into);
    spoil(into);
    return status;
  }
  void read_many(std::span<attach::ReadRequest> requests) const override {
    sound_.read_many(requests);
    for (attach::ReadRequest& request : requests) {
      spoil(request.into.first(request.got));
    }
  }
  const attach::MemoryMap& maps() const override { return sound_.maps(); }
  Result<UniqueFd> open_file(const attach::Mapping& mapping) const override {
    return sound_.open_file(mapping);
  }
  Result<std::vector<attach::ThreadState>> threads() const override { return sound_.threads(); }
  Result<attach::ThreadState> thread(pid_t tid) const override { return sound_.thread(tid); }

 private:
  void spoil(std::span<std::byte> bytes) const {
    if (rate_ == 0) {
      return;
    }
    for (std::size_t at = random_() % (2 * rate_); at < bytes.size();
         at += 1 + random_() % (2 * rate_)) {
      // Small numbers, large ones, and numbers close to the original.
      const unsigned kind = random_() % 4;
      bytes[at] = kind == 0   ? std::byte{0}
                  : kind == 1 ? std::byte{0xff}
                              : bytes[at] ^ static_cast<std::byte>(1U << (random_() % 8));
    }
  }

  const attach::Target& sound_;
  mutable std::minstd_rand random_;
  std::size_t rate_ = 0;
};

constexpr unsigned kFirstWithTasks = 8;  // whose tasks are read

// Tasks are followed from object to object: damage loses some, and sound memory yields all.
void read_damaged_tasks(const test::Interpreter& interpreter) {
  auto victim = test::Victim::start({interpreter.path, test::victim_script("python_tasks.py")});
  REQUIRE(victim);
  REQUIRE(victim->wait_line("ready"));
  const auto live = attach::LiveTarget::open(victim->pid());
  REQUIRE(live);
  DamagedTarget target(**live);
  elf::ModuleMap modules(target);
  const auto python = cpython::PythonProcess::find(target, modules);
  REQUIRE(python);
  // First without damage: the mapped files (asyncio's may be separate) are found only once.
  const auto before = python->tasks();
  REQUIRE(before);
  CHECK(before->size() >= 15);
  std::size_t whole = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    target.damage(seed, std::size_t{20} << seed % 10);
    const auto tasks = python->tasks();
    whole += tasks ? tasks->size() : 0;
  }
  CHECK(whole > 0);
  target.damage(1, 0);
  const auto sound = python->tasks();
  REQUIRE(sound);
  CHECK(sound->size() == before->size());
}

}  // namespace

TEST_CASE("damaged memory ends a stack, not the reader", "[python]") {
  const auto interpreters = test::find_interpreters();
  if (interpreters.empty()) {
    ODDRANK_SKIP("no Python in ODDRANK_PYTHONS, ~/.pyenv or /usr/bin");
  }
  for (const test::Interpreter& interpreter : interpreters) {
    if (interpreter.minor < 6 || interpreter.minor > 15) {
      continue;
    }
    INFO(interpreter.path);
    auto victim = test::Victim::start({interpreter.path, test::victim_script("python_stacks.py")});
    REQUIRE(victim);
    REQUIRE(victim->wait_line("ready"));
    const auto live = attach::LiveTarget::open(victim->pid());
    REQUIRE(live);
    DamagedTarget target(**live);
    elf::ModuleMap modules(target);
    const auto python = cpython::PythonProcess::find(target, modules);
    REQUIRE(python);
    std::size_t whole = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
      target.damage(seed, std::size_t{20} << seed % 10);
      const auto threads = python->threads(cpython::Locals::kAll);
      whole += threads ? threads->size() : 0;
      target.damage(seed, 0);
    }
    CHECK(whole > 0);
    // No damage stays behind.
    const auto sound = python->threads(cpython::Locals::kAll);
    REQUIRE(sound);
    CHECK(sound->size() == 12);
    for (const auto& thread : *sound) {
      CHECK_FALSE(thread.cut);
      CHECK(thread.frames.back().readable);
    }
    if (interpreter.minor >= kFirstWithTasks) {
      read_damaged_tasks(interpreter);
    }
    for (unsigned seed = 1; seed <= 20; ++seed) {
      target.damage(seed, 500);
      elf::ModuleMap again(target);
      const auto found = cpython::PythonProcess::find(target, again);
      CHECK((found || !found.error().what.empty()));
    }
  }
}

}  // namespace oddrank
