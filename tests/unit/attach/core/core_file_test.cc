// Made-up core files: their contents are read, even if they are cut; a file that is no core is
// refused with a reason; and damage does no harm.
#include "attach/core/core_file.h"

#include <elf.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>
#include <span>

#include "attach/core/core_target.h"
#include "ranks/cores/core_process.h"
#include "tests/support/catch.h"
#include "tests/support/core_sample.h"
#include "tests/support/machine/core_registers.h"
#include "tests/support/machine_code.h"

using oddrank::Errc;
using oddrank::attach::CoreFile;
using oddrank::attach::CoreTarget;
using oddrank::test::CoreSample;
using oddrank::test::TemporaryFile;

namespace {

CoreSample two_threads() {
  CoreSample sample;
  sample.threads = {{101, SIGSEGV, 0x1100, 0x7000, 0x9000, -1, 0},
                    {100, 0, 0x1200, 0x8000, 0xa000, 0, -512}};
  sample.segments = {{0x7000, std::string(0x1000, 's'), 0, 6},
                     {0x1000, "code", 0x1000, 5},
                     {0x20000, std::string(100, 'd'), 0, 6}};
  sample.files = {{0x1000, 0x2000, 3, "/opt/train"}, {0x30000, 0x31000, 0, "/tmp/x (deleted)"}};
  sample.auxiliary = {AT_PAGESZ, 4096, AT_NULL, 0};
  sample.signal = SIGSEGV;
  sample.signal_address = 0x10;
  return sample;
}

std::string text_at(const CoreFile& core, std::uint64_t address, std::uint64_t size) {
  const auto bytes = core.bytes_at(address, size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a core's threads, process, signal, files and memory are read") {
  const TemporaryFile file(two_threads().write());
  const auto core = CoreFile::open(file.path());
  REQUIRE(core);
  CHECK_FALSE(core->truncated());
  const auto& notes = core->notes();
  REQUIRE(notes.threads.size() == 2);
  CHECK(notes.threads[0].tid == 101);
  CHECK(notes.threads[0].signal == SIGSEGV);
  CHECK(notes.threads[0].stopped.call.number == -1);
  CHECK(notes.threads[1].stopped.registers.pc == 0x1200);
  CHECK(notes.threads[1].stopped.registers.sp == 0x8000);
  CHECK(notes.threads[1].stopped.registers.thread_pointer == 0xa000);
  CHECK(notes.threads[1].stopped.registers.all);
  CHECK(notes.threads[1].stopped.call.number == 0);
  CHECK(notes.threads[1].stopped.call.result ==
        oddrank::test::shown_result(two_threads().threads[1]));
  CHECK(notes.threads[1].stopped.call.arguments[0] == 7);
  CHECK(notes.threads[1].stopped.call.arguments[3] == 10);
  CHECK(notes.threads[1].cpu_us == 1500000);
  REQUIRE(notes.process);
  CHECK(notes.process->pid == 100);
  CHECK(notes.process->parent == 1);
  CHECK(notes.process->name == "train");
  CHECK(notes.process->command == "train --now");
  REQUIRE(notes.signal);
  CHECK(notes.signal->number == SIGSEGV);
  CHECK(notes.signal->address == 0x10);
  REQUIRE(notes.files.size() == 2);
  CHECK(notes.files[0].path == "/opt/train");
  CHECK(notes.files[0].file_offset == 3 * 4096);
  CHECK_FALSE(notes.files[0].deleted);
  CHECK(notes.files[1].path == "/tmp/x");
  CHECK(notes.files[1].deleted);
  CHECK(notes.auxiliary_value(AT_PAGESZ) == 4096);
  CHECK_FALSE(notes.auxiliary_value(AT_RANDOM));

  CHECK(text_at(*core, 0x1000, 100) == "code");
  CHECK(text_at(*core, 0x1002, 100) == "de");
  CHECK(text_at(*core, 0x1004, 100).empty());  // in a file, not in the core
  CHECK(text_at(*core, 0x20063, 100) == "d");
  CHECK(text_at(*core, 0x20064, 1).empty());
  CHECK(text_at(*core, 0xfff, 1).empty());
  REQUIRE(core->find(0x1fff) != nullptr);
  CHECK(core->find(0x1fff)->executable);
  CHECK(core->find(0x2000) == nullptr);
}

TEST_CASE("more segments than fit into the header are counted in a section") {
  CoreSample sample = two_threads();
  sample.extended_numbering = true;
  for (std::uint64_t i = 0; i < 70000; ++i) {
    sample.segments.push_back({0x100000 + i * 0x1000, "", 0x1000, 6});
  }
  sample.segments.push_back({0x7f0000000000, "last", 0, 6});
  const std::string bytes = sample.write();
  const TemporaryFile file(bytes);
  {
    const auto core = CoreFile::open(file.path());
    REQUIRE(core);
    CHECK(core->segments().size() == 70004);
    CHECK(text_at(*core, 0x7f0000000000, 4) == "last");
  }
  // That section is the file's last piece; without it the headers end where the notes begin.
  file.write(std::string_view(bytes).substr(0, bytes.size() - sizeof(Elf64_Shdr)));
  const auto core = CoreFile::open(file.path());
  REQUIRE(core);
  CHECK(core->segments().size() == 70004);
  CHECK(core->notes().threads.size() == 2);
}

TEST_CASE("a file that is no core of ours is refused, and the error says what it is") {
  struct Case {
    std::string bytes;
    Errc code;
    std::string what;
  };
  std::string program = two_threads().write();
  program[offsetof(Elf64_Ehdr, e_type)] = ET_DYN;
  std::string small = two_threads().write();
  small[EI_CLASS] = ELFCLASS32;
  std::string foreign = two_threads().write();
  foreign[offsetof(Elf64_Ehdr, e_machine)] =
      static_cast<char>(oddrank::elf_machine(oddrank::test::kOtherMachine));
  CoreSample empty = two_threads();
  empty.threads.clear();
  const std::vector<Case> cases = {
      {"", Errc::kBadData, "is empty"},
      {"hello, world", Errc::kUnsupported, "not a core file"},
      {"\x28\xb5\x2f\xfd...", Errc::kUnsupported, "compressed (zstd)"},
      {"\x04\x22\x4d\x18...", Errc::kUnsupported, "compressed (lz4)"},
      {"\x1f\x8b\x08...", Errc::kUnsupported, "compressed (gzip)"},
      {"\xfd\x37zXZ...", Errc::kUnsupported, "compressed (xz)"},
      {program, Errc::kUnsupported, "a program or library"},
      {small, Errc::kUnsupported, "32-bit"},
      {foreign, Errc::kUnsupported, "another machine"},
      {empty.write(), Errc::kBadData, "no threads"},
      {two_threads().write().substr(0, 40), Errc::kBadData, "cut"},
      {two_threads().write().substr(0, 400), Errc::kBadData, "cut before its threads"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.what);
    const TemporaryFile file(each.bytes);
    const auto core = CoreFile::open(file.path());
    REQUIRE_FALSE(core);
    CHECK(core.error().code == each.code);
    CAPTURE(core.error().what);
    CHECK(core.error().what.find(each.what) != std::string::npos);
    CHECK(core.error().what.find(file.path()) != std::string::npos);
    if (each.what.find("compressed") == 0) {
      CHECK(core.error().hint.find("decompress") == 0);
    }
  }
  CHECK(CoreFile::open("/no/such/core").error().code == Errc::kNotFound);
  CHECK(CoreFile::open("/tmp").error().code == Errc::kUnsupported);
  CHECK(CoreFile::open("/dev/null").error().code == Errc::kUnsupported);
}

TEST_CASE("a core that was cut at any length yields its contents") {
  const std::string whole = two_threads().write();
  const TemporaryFile file(whole);
  std::size_t readable = 0;
  for (std::size_t size = 0; size < whole.size(); size += size < 3000 ? 7 : 97) {
    CAPTURE(size);
    file.write(std::string_view(whole).substr(0, size));
    const auto core = CoreFile::open(file.path());
    if (!core) {
      CHECK(core.error().code != Errc::kIo);
      continue;
    }
    ++readable;
    CHECK(core->truncated());
    CHECK(core->whole_size() == whole.size());
    for (const auto& segment : core->segments()) {
      CHECK(core->bytes_at(segment.start, ~std::uint64_t{0}).size() <= segment.written);
    }
  }
  CHECK(readable > 10);
}

TEST_CASE("no damage to a core's headers and notes does any harm") {
  CoreSample sample = two_threads();
  const auto start = oddrank::test::make_start(0x7fff0000, {"train", "--now"},
                                               {"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=n0"});
  sample.segments.push_back(start.segment);
  sample.auxiliary = start.auxiliary;
  const std::string whole = sample.write();
  const TemporaryFile file(whole);
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): repeatable on purpose
  std::size_t opened = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (int flips = 0; flips < 1 + round % 4; ++flips) {
      // The memory of the process is not damaged: only headers and notes are parsed.
      const std::size_t at = random() % std::min<std::size_t>(damaged.size(), 3000);
      damaged[at] = static_cast<char>(round % 2 == 0 ? random() : 0xff);
    }
    file.write(damaged);
    const auto target = CoreTarget::open(file.path());
    if (!target) {
      continue;
    }
    ++opened;
    const auto threads = (*target)->threads();
    REQUIRE(threads);
    REQUIRE_FALSE(threads->empty());
    std::array<std::byte, 64> bytes{};
    for (const auto& mapping : (*target)->maps().listed()) {
      REQUIRE(mapping.start < mapping.end);
      static_cast<void>((*target)->read(oddrank::attach::Addr{mapping.end - 8}, bytes));
      static_cast<void>((*target)->open_file(mapping));
    }
    oddrank::snapshot::Tables tables;
    static_cast<void>(oddrank::ranks::identify_core(**target, tables));
  }
  CHECK(opened > 100);
}
