// A CPython without a symbol or section for its runtime: the runtime is found by a search of
// memory.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "attach/live_target.h"
#include "base/read_file.h"
#include "base/unique_fd.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "tests/live/python_interpreters.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank {
namespace {

namespace fs = std::filesystem;
using cpython::Locals;
using cpython::PythonProcess;
using test::Victim;

// A folder that is removed with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "oddrank-scan-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Overwrites a byte of each occurrence of the text. In place: the process has mapped the file, and
// has already bound the names that it needs.
void spoil(const fs::path& file, std::string_view text) {
  const auto bytes = read_file(file.string(), std::size_t{256} << 20);
  REQUIRE(bytes);
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  for (auto at = bytes->find(text); at != std::string::npos; at = bytes->find(text, at + 1)) {
    const char other = 'X';
    REQUIRE(::pwrite(fd.get(), &other, 1, static_cast<off_t>(at + text.size() - 2)) == 1);
  }
}

bool is_mapped(pid_t pid, const fs::path& file) {
  const auto maps = read_file("/proc/" + std::to_string(pid) + "/maps", std::size_t{1} << 20);
  return maps && maps->find(file.string()) != std::string::npos;
}

}  // namespace

TEST_CASE("a runtime without names is found by a search of memory", "[python]") {
  std::size_t tried = 0;
  for (const test::Interpreter& interpreter : test::find_interpreters()) {
    const fs::path prefix = fs::path(interpreter.path).parent_path().parent_path();
    const std::string name = "libpython3." + std::to_string(interpreter.minor) +
                             (interpreter.minor < 8 ? "m" : "") + ".so.1.0";
    if (interpreter.minor < 6 || interpreter.minor > 15 || !fs::exists(prefix / "lib" / name)) {
      continue;
    }
    INFO(interpreter.path);
    const Folder folder;
    fs::copy_file(prefix / "lib" / name, folder.path() / name);
    test::VictimOptions options;
    options.environment = {{"LD_LIBRARY_PATH", folder.path().string()},
                           {"PYTHONDONTWRITEBYTECODE", "1"}};
    auto victim =
        Victim::start({interpreter.path, test::victim_script("python_stacks.py")}, options);
    REQUIRE(victim);
    REQUIRE(victim->wait_line("ready"));
    REQUIRE(victim->wait_syscall(SYS_read));
    using namespace std::string_view_literals;
    spoil(folder.path() / name, "_PyRuntime\0"sv);
    spoil(folder.path() / name, ".PyRuntime\0"sv);
    spoil(folder.path() / name, "interp_head\0"sv);  // 3.6

    const auto target = attach::LiveTarget::open(victim->pid());
    REQUIRE(target);
    if (!is_mapped(victim->pid(), folder.path() / name)) {
      continue;  // a program that has its library built in
    }
    ++tried;
    elf::ModuleMap modules(**target);
    const auto python = PythonProcess::find(**target, modules);
    INFO((python ? "" : python.error().what));
    REQUIRE(python);
    const auto threads = python->threads(Locals::kNone);
    REQUIRE(threads);
    CHECK(threads->size() == 12);
    for (const auto& thread : *threads) {
      CHECK_FALSE(thread.cut);
      CHECK(thread.frames.back().readable);
    }
  }
  if (tried == 0) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 with a libpython of its own here");
  }
}

}  // namespace oddrank
