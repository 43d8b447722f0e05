// A library whose file was deleted or replaced by another build after it was loaded.
#include <stdlib.h>
#include <sys/syscall.h>

#include <filesystem>

#include "attach/live_target.h"
#include "elf/module_map.h"
#include "tests/live/named_stacks.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank::stacks {
namespace {

namespace fs = std::filesystem;
using snapshot::StackEnd;

// A copy of the old plugin, loaded by a victim that is stuck in it.
struct Loaded {
  Loaded() {
    std::string name = (fs::temp_directory_path() / "oddrank_library.XXXXXX").string();
    folder = ::mkdtemp(name.data()) != nullptr ? name : std::string();
    library = folder + "/plugin.so";
    std::error_code error;
    fs::copy_file(test::victim_path("plugin_old.so"), library, error);
    victim = test::Victim::start({test::victim_path("loader"), library});
    is_stuck = victim && victim->wait_line("ready") && victim->wait_syscall(SYS_read);
  }
  ~Loaded() {
    std::error_code error;
    fs::remove_all(folder, error);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  Loaded(Loaded&&) = delete;
  Loaded& operator=(Loaded&&) = delete;

  // Replaces the file as package managers do: the new one gets the name, the old one stays mapped.
  void replace() const {
    std::error_code error;
    fs::copy_file(test::victim_path("plugin_new.so"), folder + "/next", error);
    fs::rename(folder + "/next", library, error);
    REQUIRE_FALSE(error);
  }

  std::string folder;
  std::string library;
  Result<test::Victim> victim = fail(Errc::kIo, "not started");
  bool is_stuck = false;
};

void check_old_names(const snapshot::Capture& capture) {
  const auto names = test::main_names(capture);
  CAPTURE(names);
  CHECK(test::main_end(capture) == StackEnd::kComplete);
  CHECK(test::in_order(names, {"plugin_old_wait", "plugin_run", "main"}));
}

TEST_CASE("library: as it is") {
  const Loaded loaded;
  REQUIRE(loaded.is_stuck);
  const auto target = attach::LiveTarget::open(loaded.victim->pid());
  REQUIRE(target);
  const auto capture = test::read_named(**target, test::files_of(**target));
  REQUIRE(capture);
  check_old_names(*capture);
}

TEST_CASE("library: deleted, or replaced by another build") {
  const Loaded loaded;
  REQUIRE(loaded.is_stuck);
  SECTION("deleted") {
    fs::remove(loaded.library);
  }
  SECTION("replaced") {
    loaded.replace();
  }
  const auto target = attach::LiveTarget::open(loaded.victim->pid());
  REQUIRE(target);
  const auto capture = test::read_named(**target, test::files_of(**target));
  REQUIRE(capture);
  check_old_names(*capture);
}

TEST_CASE("library: if only paths can be opened, memory has tables and names") {
  const Loaded loaded;
  REQUIRE(loaded.is_stuck);
  SECTION("deleted") {
    fs::remove(loaded.library);
  }
  SECTION("replaced") {
    loaded.replace();
  }
  const auto live = attach::LiveTarget::open(loaded.victim->pid());
  REQUIRE(live);
  const test::ByPath target(**live);
  elf::ModuleMap modules(target);
  for (const elf::Module& module : modules.modules()) {
    if (module.path == loaded.library) {
      CHECK_FALSE(modules.image_of(module));
      CHECK_FALSE(modules.build_id(module).empty());
    }
  }
  const auto capture = test::read_named(target, test::files_of(target));
  REQUIRE(capture);
  check_old_names(*capture);
}

}  // namespace
}  // namespace oddrank::stacks
