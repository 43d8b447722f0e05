// The notes of a core file: the threads with their registers, the process, the signal that ended
// it, its auxiliary vector and the files that it had mapped. Plain data.
//
// Sources: core(5), the kernel's fs/binfmt_elf.c (fill_note_info, fill_files_note) and
// <sys/procfs.h>. gcore writes the same notes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/user_registers.h"

namespace oddrank::attach {

struct CoreThread {  // NT_PRSTATUS
  pid_t tid = 0;     // in the pid namespace of the core's writer
  int signal = 0;    // it was about to take it, or it ended the process
  StoppedRegisters stopped;
  std::uint64_t cpu_us = 0;
  std::uint64_t blocked_signals = 0;  // bit n-1: signal n
};

struct CoreProcess {  // NT_PRPSINFO
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;     // comm
  std::string command;  // the first 79 bytes of the command line
};

struct CoreSignal {  // NT_SIGINFO
  int number = 0;
  int code = 0;
  std::uint64_t address = 0;  // of SIGSEGV, SIGBUS, SIGILL and SIGFPE
  pid_t sender = 0;           // of kill(2)
};

struct CoreMappedFile {  // a row of NT_FILE
  std::uint64_t start = 0;
  std::uint64_t end = 0;  // exclusive
  std::uint64_t file_offset = 0;
  std::string path;
  bool deleted = false;  // the path is without " (deleted)"
};

struct CoreNotes {
  std::vector<CoreThread> threads;  // in the order of the file
  std::optional<CoreProcess> process;
  std::optional<CoreSignal> signal;      // the first one: of the thread that ended the process
  std::vector<std::uint64_t> auxiliary;  // key, value, key, value, ...; with AT_NULL
  std::vector<CoreMappedFile> files;

  // Returns the value of a key of the auxiliary vector (AT_EXECFN, ...); nullopt if it has none.
  std::optional<std::uint64_t> auxiliary_value(std::uint64_t key) const;
};

// Adds the contents of a run of notes (a PT_NOTE segment). Leaves out notes that are cut, too short
// or of another kind; never fails.
void read_core_notes(std::span<const std::byte> notes, std::uint64_t alignment, CoreNotes& into);

}  // namespace oddrank::attach
