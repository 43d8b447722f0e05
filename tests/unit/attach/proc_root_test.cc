#include "attach/proc_root.h"

#include <unistd.h>

#include "attach/proc_fds.h"
#include "attach/proc_maps.h"
#include "tests/support/catch.h"

namespace oddrank::attach {
namespace {

TEST_CASE("the root folder of a process is removed from its paths") {
  const RootPath root("/srv/image");
  CHECK(root.below("/srv/image/data/x") == "/data/x");
  CHECK(root.below("/srv/image") == "/");
  CHECK(root.below("/srv/image/srv/image/x") == "/srv/image/x");
  CHECK(RootPath("/srv/image (deleted)").below("/srv/image/x") == "/x");
}

TEST_CASE("what does not lie below the root stays as it is") {
  for (const char* link : {"/", "", "srv", "/srv/image"}) {
    const RootPath root(link);
    for (const char* path : {"/data/x", "/srv/images/x", "/srv", "/", "", "[heap]", "pipe:[7]"}) {
      INFO(link << " " << path);
      CHECK(root.below(path) == path);
    }
  }
}

TEST_CASE("maps and links are read below the root") {
  const RootPath root("/srv/image");
  const MemoryMap map = parse_proc_maps(
      "1000-2000 r--p 0 8:1 5   /srv/image/usr/lib/libc.so.6\n"
      "2000-3000 r--p 0 8:1 6   /srv/image/tmp/gone (deleted)\n"
      "3000-4000 rw-p 0 0:0 0   [heap]\n",
      root);
  REQUIRE(map.listed().size() == 3);
  CHECK(map.listed()[0].path == "/usr/lib/libc.so.6");
  CHECK(map.listed()[1].path == "/tmp/gone");
  CHECK(map.listed()[1].deleted);
  CHECK(map.listed()[2].path == "[heap]");
  CHECK(parse_fd_link(3, "/srv/image/data/x (deleted)", root).link == "/data/x (deleted)");
  CHECK(parse_fd_link(3, "/data/x", root).link == "/data/x");
  CHECK(parse_fd_link(3, "pipe:[7]", root).link == "pipe:[7]");
}

TEST_CASE("our own root removes nothing") {
  CHECK(RootPath::of(::getpid()).below("/data/x") == "/data/x");
  CHECK(RootPath::of(0).below("/data/x") == "/data/x");
  CHECK(read_process_link(0, "cwd").error().code == Errc::kNotFound);
}

}  // namespace
}  // namespace oddrank::attach
