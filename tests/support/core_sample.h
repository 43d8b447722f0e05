// Core files made up by a test: its segments, threads and notes are written byte by byte as the
// kernel does (core(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oddrank::test {

struct SampleSegment {
  std::uint64_t address = 0;
  std::string bytes;              // in the core
  std::uint64_t memory_size = 0;  // 0: the size of `bytes`
  std::uint32_t flags = 6;        // PF_R 4, PF_W 2, PF_X 1
};

struct SampleThread {
  pid_t tid = 0;
  int signal = 0;
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  std::uint64_t thread_pointer = 0;
  std::int64_t call = -1;  // the number of its system call
  std::int64_t result = 0;
};

struct SampleFile {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t page = 0;  // of the file
  std::string path;
};

struct CoreSample {
  pid_t pid = 100;
  pid_t parent = 1;
  std::string name = "train";
  std::vector<SampleThread> threads;
  std::vector<SampleSegment> segments;
  std::vector<SampleFile> files;
  std::vector<std::uint64_t> auxiliary;  // key, value, ...
  int signal = 0;                        // of NT_SIGINFO; 0: there is none
  std::uint64_t signal_address = 0;
  bool extended_numbering = false;  // as if there were more than 65534 segments

  // Returns the bytes of the core file.
  std::string write() const;
};

// Returns a note with padding: "CORE", NT_PRSTATUS, ...
std::string make_note(std::string_view owner, std::uint32_t type, std::string_view body);

// The stack of a process at exec, as the kernel lays it out, and the auxiliary vector that points
// to it. Ends at `top`.
struct StartSample {
  SampleSegment segment;
  std::vector<std::uint64_t> auxiliary;
};
StartSample make_start(std::uint64_t top,
                       const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment);

// A temporary file that the destructor removes.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::string& path() const { return path_; }
  void write(std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace oddrank::test
