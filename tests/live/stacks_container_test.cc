// A process in mount and pid namespaces of its own, as in a container: read from outside.
#include <stdlib.h>
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "attach/files/open_named.h"
#include "attach/live_target.h"
#include "attach/proc_fds.h"
#include "attach/proc_root.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"
#include "elf/module_map.h"
#include "tests/live/named_stacks.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank::stacks {
namespace {

namespace fs = std::filesystem;
using snapshot::StackEnd;
using Command = std::vector<std::string>;

constexpr std::size_t kMaxMounts = std::size_t{1} << 20;
constexpr const char* kNotPermitted =
    "mount and pid namespaces are not permitted here (unshare --mount --pid; needs root)";

// In a chroot the root is not a mount point and cannot be made private; its mounts stay inside if
// the machine's own are not shared (support/lab_keeper.py does the same).
std::string propagation() {
  const std::string own = read_file("/proc/self/mountinfo", kMaxMounts).value_or("");
  const std::string all = read_file("/proc/1/mountinfo", kMaxMounts).value_or("");
  const std::vector<std::string_view> lines = split(own, '\n');
  const bool is_mount = std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    const auto fields = split_blanks(line);
    return fields.size() > 4 && fields[4] == "/";
  });
  return is_mount || all.find(" shared:") != std::string::npos ? "private" : "unchanged";
}

Command in_namespaces(const Command& command) {
  Command all = {"unshare", "--mount", "--propagation=" + propagation(),
                 "--pid",   "--fork",  "--kill-child=KILL"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

bool may_make_namespaces() {
  auto probe = test::Victim::start(in_namespaces({"mount", "-t", "tmpfs", "none", "/mnt"}));
  if (!probe) {
    return false;
  }
  const auto status = probe->wait_end();
  return status && *status == 0;
}

struct TempFolder {
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "oddrank_container.XXXXXX").string();
    path = ::mkdtemp(name.data()) != nullptr ? name : std::string();
  }
  ~TempFolder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  TempFolder(TempFolder&&) = delete;
  TempFolder& operator=(TempFolder&&) = delete;

  std::string path;
};

// Returns our number of the pid namespace's first process; 0 if there is none.
pid_t child_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  const auto text = read_file("/proc/" + number + "/task/" + number + "/children");
  const auto words = text ? split_blanks(*text) : std::vector<std::string_view>();
  return words.empty() ? 0 : parse_number<pid_t>(words.front()).value_or(0);
}

struct Contained {
  test::Victim victim;
  pid_t pid = 0;  // of the program itself
};

Result<Contained> start_stuck(const Command& command) {
  ODDRANK_TRY(auto victim, test::Victim::start(in_namespaces(command)));
  ODDRANK_TRY(const auto line, victim.wait_line("ready"));
  const pid_t pid = child_of(victim.pid());
  if (line != "1" || pid == 0) {
    return fail(Errc::kBadData, "not the first process of a pid namespace: " + line);
  }
  ODDRANK_TRY_STATUS(victim.wait_syscall(SYS_read, pid));
  return Contained{std::move(victim), pid};
}

TEST_CASE("container: its own file is opened, not the one with the same path outside") {
  if (!may_make_namespaces()) {
    ODDRANK_SKIP(kNotPermitted);
  }
  const TempFolder folder;
  const std::string library = folder.path + "/plugin.so";
  fs::copy_file(test::victim_path("plugin_old.so"), library);
  const auto contained =
      start_stuck({"sh", "-c", R"(mount --bind "$1" "$2" && exec "$3" "$2")", "sh",
                   test::victim_path("plugin_new.so"), library, test::victim_path("loader")});
  REQUIRE(contained);
  const auto target = attach::LiveTarget::open(contained->pid);
  REQUIRE(target);
  const auto thread = (*target)->thread(contained->pid);
  REQUIRE(thread);
  CHECK(thread->tid == contained->pid);
  CHECK(thread->target_tid == 1);

  SECTION("through the process") {
    const auto capture = test::read_named(**target, test::files_of(**target));
    REQUIRE(capture);
    const auto names = test::main_names(*capture);
    CAPTURE(names);
    CHECK(test::main_end(*capture) == StackEnd::kComplete);
    CHECK(test::in_order(names, {"plugin_new_wait", "plugin_run", "main"}));
  }
  SECTION("a file outside is not used, even under the same path") {
    const test::ByPath outside(**target);
    elf::ModuleMap modules(outside);
    bool refused = false;
    for (const elf::Module& module : modules.modules()) {
      refused = refused || (module.path == library && !modules.image_of(module) &&
                            modules.image_of(module).error().code == Errc::kBadData);
    }
    CHECK(refused);
    const auto capture = test::read_named(outside, test::files_of(outside));
    REQUIRE(capture);
    const auto names = test::main_names(*capture);
    CAPTURE(names);
    CHECK(test::main_end(*capture) == StackEnd::kComplete);
    CHECK(test::in_order(names, {"plugin_new_wait", "plugin_run", "main"}));
  }
}

TEST_CASE("container: a root folder that no other process sees") {
  if (!may_make_namespaces()) {
    ODDRANK_SKIP(kNotPermitted);
  }
  const TempFolder folder;
  const auto contained = start_stuck(
      {"sh", "-c", R"(mount -t tmpfs none "$1" && cp "$2" "$1/frames" && exec chroot "$1" /frames)",
       "sh", folder.path, test::victim_path("frames_static")});
  REQUIRE(contained);
  REQUIRE_FALSE(fs::exists("/frames"));
  REQUIRE_FALSE(fs::exists(folder.path + "/frames"));
  const auto target = attach::LiveTarget::open(contained->pid);
  REQUIRE(target);
  const auto capture = test::read_named(**target, test::files_of(**target));
  REQUIRE(capture);
  const auto names = test::main_names(*capture);
  CAPTURE(names);
  CHECK(test::main_end(*capture) == StackEnd::kComplete);
  CHECK(test::in_order(names, {"work::block", "work::inner", "work::middle", "main", "_start"}));
}

TEST_CASE("container: below a folder of bind mounts, paths are those that the process sees") {
  if (!may_make_namespaces()) {
    ODDRANK_SKIP(kNotPermitted);
  }
  const TempFolder folder;
  fs::create_directory(folder.path + "/data");
  fs::copy_file(test::victim_path("frames"), folder.path + "/data/frames");
  const auto contained = start_stuck({"sh", "-c",
                                      R"(cd "$1" && for name in usr bin lib lib64; do
            if [ -L /$name ]; then cp -P /$name . || exit
            elif [ -d /$name ]; then mkdir $name && mount --bind /$name $name || exit
            fi
          done
          exec chroot "$1" /bin/sh -c "cd /data && exec /data/frames 7<frames")",
                                      "sh", folder.path});
  REQUIRE(contained);
  const auto target = attach::LiveTarget::open(contained->pid);
  REQUIRE(target);
  for (const auto& mapping : (*target)->maps().listed()) {
    CAPTURE(mapping.path);
    CHECK_FALSE(mapping.path.starts_with(folder.path));
  }
  CHECK(attach::read_process_link(contained->pid, "cwd").value_or("") == "/data");
  CHECK(attach::read_process_link(contained->pid, "exe").value_or("") == "/data/frames");
  const auto input = attach::read_fd(contained->pid, 7);
  REQUIRE(input);
  CHECK(input->link == "/data/frames");
  const auto files = attach::NamedFiles::of(contained->pid);
  REQUIRE(files);
  CHECK(files->open(input->link));
  const auto capture = test::read_named(**target, test::files_of(**target));
  REQUIRE(capture);
  const auto names = test::main_names(*capture);
  CAPTURE(names);
  CHECK(test::main_end(*capture) == StackEnd::kComplete);
  CHECK(test::in_order(names, {"work::block", "work::inner", "work::middle", "main"}));
}

}  // namespace
}  // namespace oddrank::stacks
