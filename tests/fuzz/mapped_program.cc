// Reads any bytes as a program that is loaded into a process: its header and symbols in memory, its
// unwind tables, its code, and the objects of Open MPI in it. No crash, no hang.
//
// The file is mapped where its headers want it; the stack holds addresses of its own code, so that
// frame after frame is unwound, whatever its tables say.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "elf/mapped_symbols.h"
#include "ranks/mpi_world.h"
#include "tests/support/fake_target.h"
#include "unwind/native_unwind.h"
#include "unwind/unwind_table.h"

namespace {

using namespace oddrank;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kStack = 0x7ffe00000000;
constexpr std::uint64_t kLoadedAt = 0x7f0000000000;
constexpr const char* kPath = "/opt/lib/libmpi.so.40";
constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMaxThreads = 8;

// Maps the segments, as the kernel would; bounded.
void load(test::FakeTarget& target, const elf::ElfImage& image, std::uint64_t base) {
  std::uint64_t left = std::uint64_t{1} << 20;
  for (const elf::ElfSegment& segment :
       std::span(image.segments()).first(std::min<std::size_t>(image.segments().size(), 16))) {
    const std::uint64_t skip = segment.address % kPage;
    const std::uint64_t size = std::min(segment.memory_size, left);
    left -= size;
    attach::Mapping mapping;
    mapping.start = base + segment.address - skip;
    mapping.end = (base + segment.address + size + kPage - 1) / kPage * kPage;
    mapping.file_offset = segment.file_offset - skip;
    mapping.inode = 7;
    mapping.readable = true;
    mapping.executable = segment.executable;
    mapping.writable = segment.writable;
    mapping.path = kPath;
    if (mapping.end <= mapping.start) {
      continue;
    }
    target.add_mapping(mapping);
    const auto bytes = image.bytes_at(segment.address - skip, std::min(segment.file_size, size));
    target.add_memory(attach::Addr{mapping.start}, bytes);
  }
}

void unwind_from(test::FakeTarget& target, elf::ModuleMap& modules, std::uint64_t pc) {
  unwind::NativeUnwinder unwinder(target, modules);
  attach::ThreadState thread;
  thread.tid = 10;
  thread.state = 'S';
  thread.registers = attach::Registers{};
  thread.registers->pc = pc;
  thread.registers->sp = kStack;
  for (const bool all : {false, true}) {
    thread.registers->all = all;
    thread.registers->frame_pointer = kStack + 64;
    (void)unwinder.unwind(thread, 64);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  std::vector<std::byte> bytes(size);
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, bytes.begin());
  const auto image = elf::ElfImage::from_memory(std::move(bytes));
  if (!image || image->segments().empty()) {
    return 0;
  }
  if (const auto section = image->section(".eh_frame")) {
    const auto table = image->bytes_at(section->address, section->size);
    (void)unwind::index_eh_frame(table, section->address);
  }
  const std::uint64_t base = image->segments().front().address < 0x100000 ? kLoadedAt : 0;
  test::FakeTarget target;
  load(target, *image, base);
  target.add_file(kPath, file);
  std::vector<std::uint64_t> code;
  for (const elf::ElfRange& function : image->functions_with_prefix("")) {
    code.push_back(base + function.address + function.size / 2);
  }
  if (code.empty()) {
    code.push_back(base + image->segments().front().address + 64);
  }
  attach::Mapping stack;
  stack.start = kStack;
  stack.end = kStack + 4 * kPage;
  stack.readable = stack.writable = true;
  stack.path = "[stack]";
  target.add_mapping(stack);
  std::vector<std::uint64_t> words(2048);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = i % 3 == 2 ? kStack + i * 8 + 16 : code[i % code.size()];
  }
  target.add_memory(attach::Addr{kStack}, std::as_bytes(std::span(words)));
  elf::ModuleMap modules(target);
  for (const elf::Module& module : modules.modules()) {
    (void)modules.mapped_header(module);
    (void)elf::copy_mapped_symbols(target, module);
  }
  for (std::size_t i = 0; i < std::min(code.size(), kMaxThreads); ++i) {
    unwind_from(target, modules, code[i]);
  }
  (void)ranks::read_mpi_world(target, modules);
  return 0;
}
