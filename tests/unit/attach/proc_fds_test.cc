#include "attach/proc_fds.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/unique_fd.h"
#include "tests/support/catch.h"

using oddrank::Errc;
using oddrank::UniqueFd;
using oddrank::attach::FdKind;
using oddrank::attach::OpenFd;
using oddrank::attach::parse_fd_link;
using oddrank::attach::parse_fdinfo;

TEST_CASE("a descriptor's link shows its kind") {
  CHECK(parse_fd_link(3, "pipe:[123]").kind == FdKind::kPipe);
  CHECK(parse_fd_link(3, "pipe:[123]").inode == 123);
  CHECK(parse_fd_link(4, "socket:[18446744073709551615]").inode == ~std::uint64_t{0});
  CHECK(parse_fd_link(5, "/data/shard (deleted)").kind == FdKind::kFile);
  CHECK(parse_fd_link(6, "anon_inode:[eventpoll]").kind == FdKind::kAnonymous);
  CHECK(parse_fd_link(6, "anon_inode:[eventpoll]").link == "anon_inode:[eventpoll]");
}

TEST_CASE("odd links are kept as text") {
  for (const char* link :
       {"", "pipe:[", "pipe:[]", "pipe:[x]", "pipe:[1] ", "pipe:[-1]", "net:[4]"}) {
    const OpenFd open = parse_fd_link(1, link);
    INFO(link);
    CHECK(open.kind == FdKind::kOther);
    CHECK(open.inode == 0);
    CHECK(open.link == link);
  }
}

TEST_CASE("fdinfo gives flags in octal") {
  const auto info = parse_fdinfo("pos:\t4096\nflags:\t0100001\nmnt_id:\t9\n");
  REQUIRE(info);
  CHECK((info->flags & O_ACCMODE) == O_WRONLY);
  CHECK(parse_fdinfo("pos:\t0\n").error().code == Errc::kBadData);
  CHECK(parse_fdinfo("flags:\t9\n").error().code == Errc::kBadData);
  CHECK(parse_fdinfo("").error().code == Errc::kBadData);
}

TEST_CASE("both ends of our own pipe have one inode and differ in their flags") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const UniqueFd in(ends[0]);
  const UniqueFd out(ends[1]);
  const auto fds = oddrank::attach::read_fds(::getpid());
  REQUIRE(fds);
  const auto find = [&fds](int fd) {
    return *std::find_if(fds->begin(), fds->end(),
                         [fd](const OpenFd& open) { return open.fd == fd; });
  };
  CHECK(find(in.get()).kind == FdKind::kPipe);
  CHECK(find(in.get()).inode == find(out.get()).inode);
  const auto reader = oddrank::attach::read_fd_access(::getpid(), in.get());
  CHECK((reader && reader->reads && !reader->writes));
  const auto writer = oddrank::attach::read_fd_access(::getpid(), out.get());
  CHECK((writer && writer->writes && !writer->reads));
  CHECK(oddrank::attach::read_fd_access(::getpid(), 1 << 20).error().code == Errc::kNotFound);
  CHECK(oddrank::attach::read_fd(::getpid(), 987654).error().code == Errc::kNotFound);
}
