// Runs every input in the tree through its fuzz target, each in a child whose memory is limited to
// 32 times the input and 64 MiB: fuzz_corpora CORPUS-FOLDER. No fuzzing and no sanitizer is needed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/isolated.h"
#include "base/read_file.h"

// The targets, as CMakeLists.txt renames their functions for this program.
extern "C" {
int fuzz_capture(const std::uint8_t* data, std::size_t size);
int fuzz_capture_body(const std::uint8_t* data, std::size_t size);
int fuzz_core_file(const std::uint8_t* data, std::size_t size);
int fuzz_elf_file(const std::uint8_t* data, std::size_t size);
int fuzz_flight_record(const std::uint8_t* data, std::size_t size);
int fuzz_frames(const std::uint8_t* data, std::size_t size);
int fuzz_log_lines(const std::uint8_t* data, std::size_t size);
int fuzz_mapped_program(const std::uint8_t* data, std::size_t size);
int fuzz_nccl_memory(const std::uint8_t* data, std::size_t size);
int fuzz_proc_texts(const std::uint8_t* data, std::size_t size);
int fuzz_python_memory(const std::uint8_t* data, std::size_t size);
int fuzz_ras_answer(const std::uint8_t* data, std::size_t size);
int fuzz_recorder(const std::uint8_t* data, std::size_t size);
int fuzz_slurm_texts(const std::uint8_t* data, std::size_t size);
int fuzz_texts(const std::uint8_t* data, std::size_t size);
int fuzz_torch_memory(const std::uint8_t* data, std::size_t size);
}

namespace {

struct Target {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target kTargets[] = {
    {"capture", fuzz_capture},
    {"capture_body", fuzz_capture_body},
    {"core_file", fuzz_core_file},
    {"elf_file", fuzz_elf_file},
    {"flight_record", fuzz_flight_record},
    {"frames", fuzz_frames},
    {"log_lines", fuzz_log_lines},
    {"mapped_program", fuzz_mapped_program},
    {"nccl_memory", fuzz_nccl_memory},
    {"proc_texts", fuzz_proc_texts},
    {"python_memory", fuzz_python_memory},
    {"ras_answer", fuzz_ras_answer},
    {"recorder", fuzz_recorder},
    {"slurm_texts", fuzz_slurm_texts},
    {"texts", fuzz_texts},
    {"torch_memory", fuzz_torch_memory},
};

constexpr std::size_t kTimes = 32;
constexpr std::size_t kAnyway = std::size_t{64} << 20;

bool passes(const Target& target, const std::string& path) {
  const auto bytes = oddrank::read_file(path);
  if (!bytes) {
    return false;
  }
  oddrank::IsolatedTask task{
      [&](int) { target.run(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()); },
      std::chrono::seconds(20)};
  task.may.memory = bytes->size() * kTimes + kAnyway;
  const auto result = oddrank::run_isolated({task}, 1).front();
  if (result.end != oddrank::IsolatedEnd::kFinished) {
    std::fprintf(stderr, "%s: ended badly (%d), signal %d\n", path.c_str(),
                 static_cast<int>(result.end), result.signal);
  }
  return result.end == oddrank::IsolatedEnd::kFinished;
}

}  // namespace

int main(int argc, char** argv) {
  int failed = argc == 2 ? 0 : 1;
  for (const Target& target : kTargets) {
    std::size_t inputs = 0;
    std::error_code error;
    const std::string folder = std::string(argc == 2 ? argv[1] : ".") + "/" + target.name;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      failed += passes(target, entry.path().string()) ? 0 : 1;
      ++inputs;
    }
    std::printf("%s: %zu inputs\n", target.name, inputs);
    failed += inputs == 0 ? 1 : 0;  // a corpus that is not found tests nothing
  }
  return failed == 0 ? 0 : 1;
}
