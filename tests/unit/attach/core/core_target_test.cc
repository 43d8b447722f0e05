// The process of a made-up core: where its memory comes from, which files are trusted, which rank
// it was.
#include "attach/core/core_target.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "attach/core/core_start.h"
#include "base/machine.h"
#include "base/write_file.h"
#include "ranks/cores/core_process.h"
#include "tests/support/catch.h"
#include "tests/support/core_sample.h"
#include "tests/support/machine_code.h"

using oddrank::Errc;
using oddrank::attach::Addr;
using oddrank::attach::CoreTarget;
using oddrank::attach::Mapping;
using oddrank::test::CoreSample;
using oddrank::test::TemporaryFile;

namespace {

constexpr std::uint64_t kBase = 0x7f0000000000;

// Returns a library of three pages: headers with a build id, code, constants.
std::string library(char build, char fill = 'c') {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = oddrank::elf_machine(oddrank::kOurMachine);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  std::array<Elf64_Phdr, 3> segments{};
  segments[0] = {PT_LOAD, PF_R, 0, 0, 0, 0x1000, 0x1000, 0x1000};
  segments[1] = {PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0, 0x2000, 0x2000, 0x1000};
  segments[2] = {PT_NOTE, PF_R, 0x200, 0x200, 0, 32, 32, 4};
  std::string bytes(0x3000, fill);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, segments.data(), sizeof segments);
  const std::string note = oddrank::test::make_note("GNU", NT_GNU_BUILD_ID, std::string(16, build));
  bytes.replace(0x200, note.size(), note);
  return bytes;
}

// Returns a core that holds the library's first page only, as the kernel and gcore write it.
CoreSample with_library(const std::string& path, bool code_segment) {
  CoreSample sample;
  sample.threads = {{100, 0, 0x6000, 0x7000, 0, 0, -512}};
  sample.segments = {{0x6000, std::string(0x2000, 's'), 0, 6},
                     {kBase, library('a').substr(0, 0x1000), 0, 4},
                     {kBase + 0x3000, std::string(16, 'w'), 0x1000, 6}};
  if (code_segment) {
    sample.segments.push_back({kBase + 0x1000, "", 0x2000, 5});
  }
  sample.files = {{kBase, kBase + 0x1000, 0, path}, {kBase + 0x1000, kBase + 0x3000, 1, path}};
  return sample;
}

std::unique_ptr<CoreTarget> open_target(const TemporaryFile& file,
                                        const std::string& sysroot = {}) {
  auto target = CoreTarget::open(file.path(), sysroot);
  REQUIRE(target);
  return *std::move(target);
}

std::string memory_text(const CoreTarget& target, std::uint64_t address, std::size_t size) {
  std::string text(size, '?');
  return target.read(Addr{address}, std::as_writable_bytes(std::span(text))) ? text : "";
}

}  // namespace

TEST_CASE("memory that the core lacks comes from the file of the same build") {
  const TemporaryFile so(library('a'));
  for (const bool code_segment : {true, false}) {  // gcore writes no segment for code
    CAPTURE(code_segment);
    const TemporaryFile core(with_library(so.path(), code_segment).write());
    const auto target = open_target(core);
    CHECK(memory_text(*target, kBase + 0x1000, 4) == "cccc");
    CHECK(memory_text(*target, kBase + 0xffe, 4) ==
          "cccc");  // half from the core, half from the file
    CHECK(memory_text(*target, kBase + 0x2ffe, 4) == "ccww");
    CHECK(memory_text(*target, kBase + 0x300f, 1) == "w");
    CHECK(memory_text(*target, kBase + 0x3010, 1).empty());  // memory of its own that is not there
    const Mapping* code = target->maps().find(Addr{kBase + 0x1010});
    REQUIRE(code != nullptr);
    CHECK(code->executable);
    CHECK_FALSE(code->writable);
    CHECK(code->path == so.path());
    CHECK(code->file_offset == 0x1000);
    CHECK(code->inode == target->maps().find(Addr{kBase})->inode);
    CHECK(target->maps().find(Addr{0x6000})->inode == 0);
    CHECK(target->open_file(*code));
    CHECK(target->missing_files().empty());
  }
}

TEST_CASE("a file of another build, or none, is not used, and is reported as missing") {
  const TemporaryFile so(library('b'));
  const TemporaryFile core(with_library(so.path(), true).write());
  {
    const auto target = open_target(core);
    CHECK(target->missing_files().empty());  // no read has needed it
    CHECK(memory_text(*target, kBase + 0x1000, 4).empty());
    CHECK(memory_text(*target, kBase, 4) == ELFMAG);
    const auto fd = target->open_file(*target->maps().find(Addr{kBase}));
    REQUIRE_FALSE(fd);
    CHECK(fd.error().code == Errc::kBadData);
    REQUIRE(target->missing_files().size() == 1);
    CHECK(target->missing_files()[0].path == so.path());
    CHECK(target->missing_files()[0].why.find("another build") == 0);
    const std::string sentence = oddrank::ranks::describe_missing_files(*target);
    CHECK(sentence.find(so.path()) != std::string::npos);
  }
  so.write("not even a library");
  CHECK(memory_text(*open_target(core), kBase + 0x1000, 4).empty());
  ::unlink(so.path().c_str());
  const auto target = open_target(core);
  CHECK(memory_text(*target, kBase + 0x1000, 4).empty());
  REQUIRE(target->missing_files().size() == 1);
  CHECK(target->missing_files()[0].why.find("no such file") != std::string::npos);
}

TEST_CASE("without a build id the first page must be the same") {
  std::string plain = library('a');
  plain.replace(0x200, 32, std::string(32, '\0'));
  const TemporaryFile so(plain);
  CoreSample sample = with_library(so.path(), true);
  sample.segments[1].bytes = plain.substr(0, 0x1000);
  const TemporaryFile core(sample.write());
  CHECK(memory_text(*open_target(core), kBase + 0x1000, 4) == "cccc");
  plain[0x800] = 'x';
  so.write(plain);
  CHECK(memory_text(*open_target(core), kBase + 0x1000, 4).empty());
}

TEST_CASE("a file with no page in the core is used if it is older than the core") {
  const TemporaryFile so(library('b'));
  CoreSample sample = with_library(so.path(), true);
  sample.segments[1].bytes.clear();
  sample.segments[1].memory_size = 0x1000;
  const TemporaryFile core(sample.write());
  CHECK(memory_text(*open_target(core), kBase + 0x1000, 4) == "cccc");
  timespec times[2] = {};
  times[0].tv_nsec = UTIME_OMIT;
  ::clock_gettime(CLOCK_REALTIME, &times[1]);
  times[1].tv_sec += 100;
  REQUIRE(::utimensat(AT_FDCWD, so.path().c_str(), times, 0) == 0);
  const auto target = open_target(core);
  CHECK(memory_text(*target, kBase + 0x1000, 4).empty());
  CHECK(target->missing_files().at(0).why.find("newer than the core") != std::string::npos);
}

TEST_CASE("below a sysroot the same build is found, whole path or flat") {
  std::string folder = "/tmp/oddrank-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const TemporaryFile core(with_library("/no/such/place/liba.so", true).write());
  CHECK(memory_text(*open_target(core), kBase + 0x1000, 4).empty());
  CHECK(memory_text(*open_target(core, folder), kBase + 0x1000, 4).empty());
  REQUIRE(oddrank::write_file(folder + "/liba.so", library('a', 'f')));
  CHECK(memory_text(*open_target(core, folder), kBase + 0x1000, 4) == "ffff");
  for (const char* part : {"/no", "/no/such", "/no/such/place"}) {
    ::mkdir((folder + part).c_str(), 0700);
  }
  REQUIRE(oddrank::write_file(folder + "/no/such/place/liba.so", library('a', 'p')));
  CHECK(memory_text(*open_target(core, folder), kBase + 0x1000, 4) == "pppp");
  REQUIRE(oddrank::write_file(folder + "/no/such/place/liba.so", library('z')));
  CHECK(memory_text(*open_target(core, folder), kBase + 0x1000, 4) == "ffff");
  for (const char* part : {"/no/such/place/liba.so", "/liba.so"}) {
    ::unlink((folder + part).c_str());
  }
  for (const char* part : {"/no/such/place", "/no/such", "/no", ""}) {
    ::rmdir((folder + part).c_str());
  }
}

TEST_CASE("memory that the core has lost is not taken from the file") {
  const TemporaryFile so(library('a'));
  CoreSample sample = with_library(so.path(), true);
  sample.files.push_back({kBase + 0x3000, kBase + 0x4000, 2, so.path()});  // its written data
  std::string bytes = sample.write();
  bytes.resize(bytes.size() - 8);  // the end of that data
  const TemporaryFile core(bytes);
  const auto target = open_target(core);
  CHECK(memory_text(*target, kBase + 0x3000, 8) == "wwwwwwww");
  CHECK(memory_text(*target, kBase + 0x3008, 1).empty());
}

TEST_CASE("the main thread is first; blocked and running threads are distinguished") {
  CoreSample sample;
  sample.threads = {{102, SIGABRT, 0x1010, 0x7000, 0, SYS_tgkill, 0},  // came back from it
                    {100, 0, 0x1000, 0x7000, 0, SYS_futex, -512},      // in it
                    {101, 0, 0x1020, 0x7000, 0, -1, 5}};               // ran
  // A call that will be made again has its instruction where the thread goes on.
  sample.segments = {{0x1000, oddrank::test::system_call_code() + std::string(64, '\0'), 0, 5},
                     {0x6000, std::string(0x2000, 's'), 0, 6}};
  const TemporaryFile core(sample.write());
  const auto target = open_target(core);
  const auto threads = target->threads();
  REQUIRE(threads);
  REQUIRE(threads->size() == 3);
  CHECK((*threads)[0].tid == 100);
  CHECK((*threads)[0].name == "train");
  CHECK((*threads)[0].state == 'S');
  REQUIRE((*threads)[0].syscall);
  CHECK((*threads)[0].syscall->number == SYS_futex);
  CHECK((*threads)[0].syscall->arguments[0] == 7);
  CHECK((*threads)[1].state == 'R');
  CHECK((*threads)[2].state == 'R');
  CHECK_FALSE((*threads)[2].syscall);
  CHECK((*threads)[2].registers->all);
  CHECK(target->pid() == 100);
  CHECK(target->name() == "train");
  CHECK(target->thread(101)->tid == 101);
  CHECK(target->thread(7).error().code == Errc::kGone);
}

TEST_CASE("in a core that was written outside a container, threads know their own numbers") {
  CoreSample sample;
  const auto block = [](std::uint64_t address, std::int32_t tid) {
    std::string bytes(0x1000, '\0');
    std::memcpy(bytes.data() + 16, &address, sizeof address);
    std::memcpy(bytes.data() + 720, &tid, sizeof tid);
    return oddrank::test::SampleSegment{address, bytes, 0, 6};
  };
  sample.threads = {{100, 0, 0x1000, 0x7000, 0x20000, 202, -512},
                    {101, 0, 0x1000, 0x7000, 0x30000, 202, -512}};
  if (oddrank::kOurMachine != oddrank::Machine::kAmd64) {
    return;  // where the C library keeps them is known of x86-64 only
  }
  SECTION("other numbers") {
    sample.segments = {block(0x20000, 1), block(0x30000, 9)};
    const TemporaryFile core(sample.write());
    const auto threads = open_target(core)->threads();
    CHECK((*threads)[0].target_tid == 1);
    CHECK((*threads)[1].target_tid == 9);
    CHECK((*threads)[1].tid == 101);
  }
  SECTION("the same numbers, or invalid ones") {
    sample.segments = {block(0x20000, 100), block(0x30000, 9)};
    const TemporaryFile core(sample.write());
    const auto threads = open_target(core)->threads();
    CHECK((*threads)[0].target_tid == 100);
    CHECK((*threads)[1].target_tid == 101);
  }
}

TEST_CASE("arguments and environment are found on the stack, and identify the rank") {
  CoreSample sample;
  sample.threads = {{100, 0, 0x1000, 0x7ffe0000, 0, 0, -512}};
  const auto start = oddrank::test::make_start(
      0x7fff0000, {"python3", "train.py", "RANK=9", "--token=s3cret"},
      {"HOME=/root", "RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=1", "SECRET_KEY=x", "MASTER_ADDR=n0",
       "MASTER_PORT=29500", "SLURMD_NODENAME=n7"});
  sample.segments = {start.segment};
  sample.auxiliary = start.auxiliary;
  const TemporaryFile core(sample.write());
  const auto target = open_target(core);
  CHECK(target->maps().find(Addr{0x7ffefff0})->path == "[stack]");
  const auto found = oddrank::attach::read_core_start(*target, target->core().notes());
  CHECK(found.found);
  CHECK(found.arguments ==
        std::vector<std::string>{"python3", "train.py", "RANK=9", "--token=s3cret"});
  CHECK(found.environment.get("RANK") == "3");
  CHECK_FALSE(found.environment.has("SECRET_KEY"));
  oddrank::snapshot::Tables tables;
  const auto identity = oddrank::ranks::identify_core(*target, tables);
  CHECK(identity.process.is_rank);
  CHECK(identity.process.rank == 3);
  CHECK(identity.process.world_size == 8);
  CHECK(identity.process.local_rank == 1);
  CHECK(identity.process.pid == 100);
  CHECK(identity.host == "n7");
  CHECK(tables.text(identity.process.job_key) == "n0:29500");
  CHECK(std::string(tables.text(identity.process.command)) ==
        "python3 train.py RANK=9 --token=***");
  CHECK(identity.notes.empty());
}

TEST_CASE("a start that was overwritten or is not in the core names no rank, and says so") {
  CoreSample sample;
  sample.threads = {{100, SIGSEGV, 0x1000, 0x7ffe0000, 0, -1, 0}};
  auto start = oddrank::test::make_start(0x7fff0000, {"python3"}, {"RANK=3", "WORLD_SIZE=8"});
  sample.auxiliary = start.auxiliary;
  sample.signal = SIGSEGV;
  sample.signal_address = 0xdead;
  SECTION("not in the core") {
    sample.segments = {{0x7000, "x", 0, 6}};
  }
  SECTION("argv does not count") {
    std::string& stack = start.segment.bytes;
    stack[4096] = 7;
    sample.segments = {start.segment};
  }
  const TemporaryFile core(sample.write());
  const auto target = open_target(core);
  oddrank::snapshot::Tables tables;
  const auto identity = oddrank::ranks::identify_core(*target, tables);
  CHECK_FALSE(identity.process.is_rank);
  CHECK(identity.process.rank == -1);
  CHECK(std::string(tables.text(identity.process.command)) == "train --now");
  REQUIRE(identity.notes.size() == 2);
  CHECK(identity.notes[0] == "it was ended by SIGSEGV at address 0xdead, in thread 100");
  CHECK(identity.notes[1].find("environment is not in the core") != std::string::npos);
}
