#include "tests/support/core_sample.h"

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/procfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "tests/support/machine/core_registers.h"

namespace oddrank::test {
namespace {

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string words(const std::vector<std::uint64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::uint64_t)};
}

std::string thread_note(const SampleThread& thread) {
  elf_prstatus status{};
  status.pr_cursig = static_cast<short>(thread.signal);
  status.pr_pid = thread.tid;
  status.pr_utime.tv_sec = 1;
  status.pr_stime.tv_usec = 500000;
  fill_registers(thread, status);
  return make_note("CORE", NT_PRSTATUS, bytes_of(status));
}

std::string process_note(const CoreSample& sample) {
  elf_prpsinfo info{};
  info.pr_pid = sample.pid;
  info.pr_ppid = sample.parent;
  sample.name.copy(info.pr_fname, sizeof info.pr_fname);
  (sample.name + " --now").copy(info.pr_psargs, sizeof info.pr_psargs - 1);
  return make_note("CORE", NT_PRPSINFO, bytes_of(info));
}

std::string signal_note(const CoreSample& sample) {
  siginfo_t info{};
  info.si_signo = sample.signal;
  info.si_code = SEGV_MAPERR;
  std::memcpy(&info.si_addr, &sample.signal_address, sizeof sample.signal_address);
  return make_note("CORE", NT_SIGINFO, bytes_of(info));
}

std::string files_note(const CoreSample& sample) {
  std::vector<std::uint64_t> head = {sample.files.size(), 4096};
  std::string names;
  for (const SampleFile& file : sample.files) {
    head.insert(head.end(), {file.start, file.end, file.page});
    names += file.path + '\0';
  }
  return make_note("CORE", NT_FILE, words(head) + names);
}

std::string notes_of(const CoreSample& sample) {
  std::string notes;
  for (std::size_t i = 0; i < sample.threads.size(); ++i) {
    notes += thread_note(sample.threads[i]);
    if (i == 0) {
      notes += process_note(sample);
      notes += sample.signal != 0 ? signal_note(sample) : "";
      notes += make_note("CORE", NT_AUXV, words(sample.auxiliary));
      notes += files_note(sample);
    }
    notes += machine_note(sample.threads[i]);
  }
  return notes;
}

}  // namespace

std::string make_note(std::string_view owner, std::uint32_t type, std::string_view body) {
  const Elf64_Nhdr header{static_cast<std::uint32_t>(owner.size() + 1),
                          static_cast<std::uint32_t>(body.size()), type};
  std::string note = bytes_of(header) + std::string(owner) + '\0';
  note.resize((note.size() + 3) / 4 * 4);
  note += body;
  note.resize((note.size() + 3) / 4 * 4);
  return note;
}

std::string CoreSample::write() const {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_CORE;
  header.e_machine = sample_machine();
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phoff = sizeof header;
  header.e_phnum = static_cast<std::uint16_t>(segments.size() + 1);
  const std::string notes = notes_of(*this);
  std::uint64_t offset = sizeof header + (segments.size() + 1) * sizeof(Elf64_Phdr);
  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_offset = offset;
  note.p_filesz = notes.size();
  note.p_align = 4;
  std::string table = bytes_of(note);
  std::string content = notes;
  offset += notes.size();
  for (const SampleSegment& segment : segments) {
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_flags = segment.flags;
    load.p_vaddr = segment.address;
    load.p_offset = offset;
    load.p_filesz = segment.bytes.size();
    load.p_memsz = segment.memory_size != 0 ? segment.memory_size : segment.bytes.size();
    table += bytes_of(load);
    content += segment.bytes;
    offset += segment.bytes.size();
  }
  if (extended_numbering) {
    Elf64_Shdr first{};
    first.sh_info = static_cast<std::uint32_t>(segments.size() + 1);
    header.e_shoff = offset;
    header.e_shnum = 1;
    header.e_shentsize = sizeof first;
    header.e_phnum = PN_XNUM;
    content += bytes_of(first);
  }
  return bytes_of(header) + table + content;
}

StartSample make_start(std::uint64_t top,
                       const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment) {
  std::string strings;
  std::vector<std::uint64_t> at;  // of each string, from the start of the strings
  const auto add = [&](const std::string& text) {
    at.push_back(strings.size());
    strings += text + '\0';
  };
  std::for_each(arguments.begin(), arguments.end(), add);
  std::for_each(environment.begin(), environment.end(), add);
  add(arguments.front());  // the program's name
  strings.resize((strings.size() + 7) / 8 * 8 + 8);
  const std::uint64_t strings_at = top - strings.size();
  const std::uint64_t random_at = strings_at - 32;
  StartSample sample;
  sample.auxiliary = {AT_PAGESZ, 4096, AT_RANDOM, random_at, AT_EXECFN, strings_at + at.back(),
                      AT_NULL,   0};
  std::vector<std::uint64_t> stack = {arguments.size()};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    stack.push_back(strings_at + at[i]);
  }
  stack.push_back(0);
  for (std::size_t i = 0; i < environment.size(); ++i) {
    stack.push_back(strings_at + at[arguments.size() + i]);
  }
  stack.push_back(0);
  stack.insert(stack.end(), sample.auxiliary.begin(), sample.auxiliary.end());
  sample.segment.bytes = std::string(4096, '\0') + words(stack) + std::string(32, 'r') + strings;
  sample.segment.address = top - sample.segment.bytes.size();
  return sample;
}

TemporaryFile::TemporaryFile(std::string_view bytes) : path_("/tmp/oddrank-test-XXXXXX") {
  const int fd = ::mkstemp(path_.data());
  ::close(fd);
  write(bytes);
}

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
}

void TemporaryFile::write(std::string_view bytes) const {
  std::ofstream(path_, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace oddrank::test
