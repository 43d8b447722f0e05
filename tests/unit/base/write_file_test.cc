// What is written where, if others may write to the folder too.
#include "base/write_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/read_file.h"
#include "base/unique_fd.h"
#include "tests/support/catch.h"

namespace oddrank {
namespace {

struct WriteFolder {
  std::string path = (std::filesystem::temp_directory_path() / "oddrank-XXXXXX").string();
  WriteFolder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~WriteFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  WriteFolder(const WriteFolder&) = delete;
  WriteFolder& operator=(const WriteFolder&) = delete;
  WriteFolder(WriteFolder&&) = delete;
  WriteFolder& operator=(WriteFolder&&) = delete;

  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path),
                         std::filesystem::directory_iterator());
  }
};

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(::lstat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

TEST_CASE("whether a file can be written is known before, and leaves nothing") {
  const WriteFolder folder;
  CHECK(check_writable(folder.path + "/f", 1 << 20));
  CHECK(folder.files() == 0);
  REQUIRE(write_file(folder.path + "/f", "old"));
  CHECK(check_writable(folder.path + "/f", 1 << 20));
  CHECK(*read_file(folder.path + "/f", 100) == "old");
  CHECK(folder.files() == 1);
  CHECK(check_writable("-", 1 << 20));
  CHECK(check_writable("/dev/null", 1 << 20));
  CHECK(check_writable(folder.path + "/none/f", 1).error().code == Errc::kNotFound);
  CHECK_FALSE(check_writable(folder.path, 1));
  CHECK_FALSE(check_writable("/proc/self/f", 1));
}

TEST_CASE("a failed write leaves the old file and no temporary one") {
  const WriteFolder folder;
  const std::string path = folder.path + "/f";
  REQUIRE(write_file(path, "old"));
  const auto refused = write_file(folder.path + "/none/f", "new");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kNotFound);
  CHECK(*read_file(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("a limit on the size of files is an error and leaves nothing behind") {
  const WriteFolder folder;
  const std::string path = folder.path + "/f";
  REQUIRE(write_file(path, "old"));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = 100;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &low) == 0);
  const auto refused = write_file(path, std::string(1000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "cannot write " + path + ": file too large");
  CHECK(*read_file(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("files are private whatever the umask, unless a mode is given") {
  const WriteFolder folder;
  const mode_t before = ::umask(0);
  REQUIRE(write_file(folder.path + "/private", "x"));
  ::umask(0077);
  REQUIRE(write_file(folder.path + "/shared", "x", 0644));
  ::umask(before);
  CHECK(mode_of(folder.path + "/private") == 0600);
  CHECK(mode_of(folder.path + "/shared") == 0644);
}

// A first version wrote through the link.
TEST_CASE("a link in the file's place is replaced, and so is one in a temporary file's") {
  const WriteFolder folder;
  const std::string path = folder.path + "/f";
  REQUIRE(write_file(folder.path + "/other", "precious"));
  std::filesystem::create_symlink(folder.path + "/other", path);
  // The name that earlier versions used for a temporary file.
  std::filesystem::create_symlink(folder.path + "/other",
                                  path + ".tmp" + std::to_string(::getpid()));
  REQUIRE(write_file(path, "new"));
  CHECK(*read_file(folder.path + "/other") == "precious");
  CHECK(*read_file(path) == "new");
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(path)));
}

TEST_CASE("a FIFO without a reader is refused at once, one with a reader gets the bytes") {
  const WriteFolder folder;
  const std::string path = folder.path + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto refused = write_file(path, "new");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "cannot write " + path + ": no process reads this pipe");
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader.valid());
  CHECK(write_file(path, "new"));
  CHECK(read_all(reader.get(), path, 3).value() == "new");
}

TEST_CASE("a FIFO that another user has made is refused") {
  const WriteFolder folder;
  const std::string path = folder.path + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
  if (::chown(path.c_str(), 61234, 61234) != 0) {
    return;  // only root can make such a file
  }
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto refused = write_file(path, "new");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kPermission);
}

// A first version renamed its file over the device.
TEST_CASE("a device is written through, not replaced") {
  const auto refused = write_file("/dev/full", "new");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "cannot write /dev/full: no space left on device");
  CHECK(std::filesystem::is_character_file("/dev/full"));
}

TEST_CASE("a descriptor's path is written to, not replaced") {
  const WriteFolder folder;
  const UniqueFd fd(::open((folder.path + "/f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(write_file("/dev/fd/" + std::to_string(fd.get()), "through"));
  CHECK(*read_file(folder.path + "/f") == "through");
  CHECK(folder.files() == 1);
}

TEST_CASE("two paths to one file are recognised") {
  const WriteFolder folder;
  std::filesystem::create_directory(folder.path + "/d");
  CHECK(file_identity("-") == file_identity("/dev/stdout"));
  CHECK(file_identity(folder.path + "/f") == file_identity(folder.path + "/d/../f"));
  CHECK(file_identity(folder.path + "/f") == file_identity(folder.path + "/./f"));
  CHECK_FALSE(file_identity(folder.path + "/f") == file_identity(folder.path + "/d/f"));
}

TEST_CASE("random words differ") {
  CHECK(random_word().size() == 16);
  CHECK(random_word() != random_word());
}

}  // namespace
}  // namespace oddrank
