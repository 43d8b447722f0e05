// A target made up by a test: the test sets memory, mappings, files and threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/target.h"

namespace oddrank::test {

class FakeTarget final : public attach::Target {
 public:
  explicit FakeTarget(pid_t pid = 4711, std::string name = "python3")
      : pid_(pid), name_(std::move(name)) {}

  // Adds memory that can be read. Segments may touch and overlap; the later one wins. Memory needs
  // no mapping to be readable.
  void add_memory(attach::Addr address, std::span<const std::byte> bytes);
  void add_memory(attach::Addr address, std::string_view bytes);
  // Adds the bytes of one object of trivially copyable type.
  template <typename T>
  void add_object(attach::Addr address, const T& object) {
    add_memory(address, std::as_bytes(std::span<const T, 1>(&object, 1)));
  }

  void add_mapping(attach::Mapping mapping);
  // Sets the file that open_file returns for mappings with this path (a memfd with these bytes).
  void add_file(std::string path, std::string bytes);
  // The same, but open_file returns the real file at `real_path`.
  void add_real_file(std::string path, std::string real_path);

  void set_threads(std::vector<attach::ThreadState> threads) { threads_ = std::move(threads); }
  // Sets a function that is called before each read of a thread (by threads() and thread()); it may
  // change the thread, so that a test can let it move while it is read.
  void on_look(std::function<void(attach::ThreadState&)> look) { on_look_ = std::move(look); }

  // Lets threads be stopped: called for each requested thread, returns how the attempt ends, and
  // sets the registers of a stopped thread. Without it, stops are not supported.
  void on_stop(std::function<attach::StopEnd(attach::ThreadState&)> stop) {
    on_stop_ = std::move(stop);
  }
  // Returns the tids of each call of while_stopped.
  const std::vector<std::vector<pid_t>>& stops() const { return stops_; }

  // Returns the number of calls of read() and read_many().
  std::size_t read_calls() const { return read_calls_; }
  // Returns how many bytes they were asked for.
  std::size_t read_bytes() const { return read_bytes_; }

  pid_t pid() const override { return pid_; }
  const std::string& name() const override { return name_; }
  Status read(attach::Addr address, std::span<std::byte> into) const override;
  void read_many(std::span<attach::ReadRequest> requests) const override;
  const attach::MemoryMap& maps() const override { return maps_; }
  Result<UniqueFd> open_file(const attach::Mapping& mapping) const override;
  Result<std::vector<attach::ThreadState>> threads() const override;
  Result<attach::ThreadState> thread(pid_t tid) const override;
  Result<attach::Stop> while_stopped(
      std::span<const attach::ThreadState> threads,
      std::chrono::milliseconds patience,
      const std::function<void(std::span<const attach::StopAttempt>)>& look) const override;

 private:
  struct Segment {
    std::uint64_t start = 0;
    std::vector<std::byte> bytes;
  };
  struct File {
    std::string bytes;
    std::string real_path;  // instead of bytes, if not empty
  };

  // Copies the bytes from `address` on; returns how many exist.
  std::size_t copy_out(attach::Addr address, std::span<std::byte> into) const;

  pid_t pid_;
  std::string name_;
  std::vector<Segment> segments_;
  std::vector<attach::Mapping> mappings_;
  attach::MemoryMap maps_;
  std::map<std::string, File> files_;
  std::vector<attach::ThreadState> threads_;
  std::function<void(attach::ThreadState&)> on_look_;
  std::function<attach::StopEnd(attach::ThreadState&)> on_stop_;
  mutable std::size_t read_calls_ = 0;
  mutable std::size_t read_bytes_ = 0;
  mutable std::vector<std::vector<pid_t>> stops_;
};

}  // namespace oddrank::test
