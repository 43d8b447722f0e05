#include "attach/proc_maps.h"

#include <string>

#include "tests/support/catch.h"

using oddrank::attach::Addr;
using oddrank::attach::MemoryMap;
using oddrank::attach::parse_proc_maps;

TEST_CASE("a line of maps gives range, rights, file and device") {
  const MemoryMap map = parse_proc_maps(
      "7f0000001000-7f0000003000 r-xp 0001a000 103:02 4711                     /usr/lib/libc.so.6\n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
      "7f0000010000-7f0000020000 rw-s 00000000 00:00 0 \n");
  REQUIRE(map.listed().size() == 3);
  const auto* code = map.find(Addr{0x7f0000001000});
  REQUIRE(code != nullptr);
  CHECK(code->end == 0x7f0000003000);
  CHECK(code->readable);
  CHECK_FALSE(code->writable);
  CHECK(code->executable);
  CHECK_FALSE(code->shared);
  CHECK(code->file_offset == 0x1a000);
  CHECK(code->device == (0x103U << 20U | 0x02U));
  CHECK(code->inode == 4711);
  CHECK(code->path == "/usr/lib/libc.so.6");
  CHECK(map.find(Addr{0x7ffd00000000})->path == "[stack]");
  CHECK(map.find(Addr{0x7f0000010000})->path.empty());
  CHECK(map.find(Addr{0x7f0000010000})->shared);
}

TEST_CASE("deleted files, blanks and newlines in paths") {
  const MemoryMap map = parse_proc_maps(
      "1000-2000 r--p 0 8:1 5   /tmp/a b (deleted)\n"
      "2000-3000 r--p 0 8:1 6   /tmp/two\\012lines\n"
      "3000-4000 rw-p 0 0:0 0   [anon:x (deleted)\n"
      "4000-5000 r--p 0 8:1 7   /tmp/x (deleted) y\n"
      "5000-6000 rw-s 0 0:1 8    (deleted)\n");
  REQUIRE(map.listed().size() == 5);
  CHECK(map.find(Addr{0x1000})->path == "/tmp/a b");
  CHECK(map.find(Addr{0x1000})->deleted);
  CHECK(map.find(Addr{0x2000})->path == "/tmp/two\nlines");
  CHECK_FALSE(map.find(Addr{0x3000})->deleted);
  CHECK(map.find(Addr{0x4000})->path == "/tmp/x (deleted) y");
  CHECK_FALSE(map.find(Addr{0x4000})->deleted);
  CHECK_FALSE(map.find(Addr{0x5000})->deleted);
}

TEST_CASE("lines that are no mappings are left out, and so is a cut last line") {
  const MemoryMap map = parse_proc_maps(
      "\n \nnonsense\n1000 r--p 0 8:1 5 /a\n1000-2000 r-- 0 8:1 5 /a\n1000-2000 r--p zz 8:1 5 /a\n"
      "1000-2000 r--p 0 81 5 /a\n2000-3000 r--p 0 8:1 5 /whole\n3000-4000 r--p 0 8:1 5 /cu");
  REQUIRE(map.listed().size() == 1);
  CHECK(map.listed()[0].path == "/whole");
  CHECK(parse_proc_maps("").listed().empty());
}
