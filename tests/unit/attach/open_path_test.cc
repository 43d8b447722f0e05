// Finding files below a root folder: the kernel's way and our own, step by step, find the same.
#include "attach/files/open_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "attach/files/open_as.h"
#include "attach/files/open_named.h"
#include "base/read_file.h"
#include "tests/support/catch.h"
#include "tests/support/emulated.h"

namespace oddrank::attach {
namespace {

namespace fs = std::filesystem;

// TOP/root is the root folder; TOP/secret is outside.
class Tree {
 public:
  Tree() {
    REQUIRE(::mkdtemp(top_.data()) != nullptr);
    fs::create_directories(top_ + "/root/a/b");
    std::ofstream(top_ + "/secret") << "outside";
    std::ofstream(top_ + "/root/secret") << "inside";
    std::ofstream(top_ + "/root/a/b/file") << "file";
    fs::create_symlink("/secret", top_ + "/root/absolute");
    fs::create_symlink("../../../../secret", top_ + "/root/a/upwards");
    fs::create_symlink("/a", top_ + "/root/folder");
    fs::create_symlink("loop", top_ + "/root/loop");
    fs::create_symlink("/proc/self/fd/0", top_ + "/root/magic");
    REQUIRE(::mkfifo((top_ + "/root/fifo").c_str(), 0600) == 0);
    root_ = UniqueFd(::open((top_ + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~Tree() {
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  Tree(Tree&&) = delete;
  Tree& operator=(Tree&&) = delete;

  const UniqueFd& root() const { return root_; }
  const std::string& top() const { return top_; }

 private:
  std::string top_ = (fs::temp_directory_path() / "oddrank-XXXXXX").string();
  UniqueFd root_;
};

// Returns the contents, or the name of the error.
std::string contents(Result<UniqueFd> found) {
  auto fd = found ? open_found(*found, "it") : std::move(found);
  if (!fd) {
    return fd.error().what;
  }
  return read_all(fd->get(), "it", 100).value_or("unreadable");
}

TEST_CASE("links never lead out of the root folder") {
  const Tree tree;
  for (const auto find : {find_below, walk_below}) {
    const auto followed = [&](const char* path) {
      return contents(find(tree.root(), path, LastLink::kFollowed));
    };
    CHECK(followed("/secret") == "inside");
    CHECK(followed("a/b/file") == "file");
    CHECK(followed("/absolute") == "inside");
    CHECK(followed("/a/upwards") == "inside");
    CHECK(followed("/folder/b/../b/./file") == "file");
    CHECK(followed("/../../secret") == "inside");
    CHECK(followed("/loop").find("too many") != std::string::npos);
    CHECK(followed("/none").find("no such file") != std::string::npos);
    CHECK(followed("/fifo") == "it is not a regular file");
  }
}

TEST_CASE("a link at the end is refused if it is not to be followed") {
  const Tree tree;
  for (const auto find : {find_below, walk_below}) {
    const auto found = find(tree.root(), "/absolute", LastLink::kRefused);
    REQUIRE(found);
    struct stat facts {};
    REQUIRE(::fstat(found->get(), &facts) == 0);
    CHECK(S_ISLNK(facts.st_mode));
    CHECK_FALSE(open_found(*found, "it"));
    // Those before it are followed.
    CHECK(contents(find(tree.root(), "/folder/b/file", LastLink::kRefused)) == "file");
  }
}

TEST_CASE("the kernel's own links and files are not followed and not opened") {
  ODDRANK_NEEDS_KERNEL();
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const auto find : {find_below, walk_below}) {
    CHECK_FALSE(find(root, "/proc/self/fd/0", LastLink::kFollowed));
    CHECK_FALSE(find(root, "/proc/self/root/etc/passwd", LastLink::kFollowed));
    const auto found = find(root, "/proc/1/status", LastLink::kFollowed);
    REQUIRE(found);
    CHECK(open_found(*found, "it").error().code == Errc::kUnsupported);
  }
}

TEST_CASE("files are opened with the rights of another user, and ours come back") {
  if (::geteuid() != 0) {
    return;  // only root can take them
  }
  const Tree tree;
  fs::permissions(tree.top(), fs::perms(0755));
  const std::string mine = tree.top() + "/root/secret";
  REQUIRE(::chmod(mine.c_str(), 0600) == 0);
  const Rights other{61234, 61234, {}, false};
  CHECK(open_below_as(tree.root(), "/secret", LastLink::kRefused, other).error().code ==
        Errc::kPermission);
  CHECK(contents(find_below(tree.root(), "/secret", LastLink::kRefused)) == "inside");
  REQUIRE(::chown(mine.c_str(), 61234, 61234) == 0);
  CHECK(open_below_as(tree.root(), "/secret", LastLink::kRefused, other));
  // A group counts, too.
  REQUIRE(::chown(mine.c_str(), 0, 4321) == 0);
  REQUIRE(::chmod(mine.c_str(), 0640) == 0);
  CHECK_FALSE(open_below_as(tree.root(), "/secret", LastLink::kRefused, other));
  CHECK(open_below_as(tree.root(), "/secret", LastLink::kRefused, {61234, 61234, {4321}, false}));
}

TEST_CASE("root without capabilities opens what is root's, and nothing else") {
  if (::geteuid() != 0) {
    return;
  }
  const Tree tree;
  fs::permissions(tree.top(), fs::perms(0755));
  REQUIRE(::chmod((tree.top() + "/root/secret").c_str(), 0600) == 0);
  const Rights root{0, 0, {}, false};
  CHECK(open_below_as(tree.root(), "/secret", LastLink::kRefused, root));
  REQUIRE(::chown((tree.top() + "/root/secret").c_str(), 61234, 61234) == 0);
  CHECK_FALSE(open_below_as(tree.root(), "/secret", LastLink::kRefused, root));
}

TEST_CASE("our own process's rights are those of its user") {
  const auto rights = rights_of(::getpid());
  REQUIRE(rights);
  CHECK(rights->user == ::getuid());
  CHECK(rights->group == ::getgid());
  CHECK(rights->groups.size() == static_cast<std::size_t>(::getgroups(0, nullptr)));
}

}  // namespace
}  // namespace oddrank::attach
