#include "cpython/python_sample.h"

#include <algorithm>
#include <utility>

#include "base/base_name.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

PythonSample::PythonSample(PythonMemory memory, CodeCache codes, std::vector<SampledThread> threads)
    : memory_(std::move(memory)), codes_(std::move(codes)), threads_(std::move(threads)) {}

const SampledThread* PythonSample::by_tid(pid_t target_tid) const {
  const auto at = std::find_if(threads_.begin(), threads_.end(), [&](const SampledThread& thread) {
    return thread.target_tid == target_tid && target_tid != 0;
  });
  return at == threads_.end() ? nullptr : &*at;
}

const SampledThread* PythonSample::by_ident(std::uint64_t pthread) const {
  const auto at = std::find_if(threads_.begin(), threads_.end(), [&](const SampledThread& thread) {
    return thread.pthread == pthread && pthread != 0;
  });
  return at == threads_.end() ? nullptr : &*at;
}

std::string PythonSample::place(const RawFrame& frame) const {
  const CodeObject& object = code(frame);
  if (!object.readable) {
    return {};
  }
  return object.function + " (" + std::string(base_name(object.file)) + ":" +
         std::to_string(line_of(memory_.layout(), object, frame)) + ")";
}

Result<PythonSample> open_python(const attach::Target& target) {
  elf::ModuleMap modules(target);
  ODDRANK_TRY(PythonProcess python, PythonProcess::find(target, modules));
  ODDRANK_TRY(const auto threads, python.threads(Locals::kNone));
  auto sample = python.release_sample();
  if (!sample) {
    return fail(Errc::kBadData, std::to_string(threads.size()) + " Python threads, but no frames");
  }
  return *std::move(sample);
}

}  // namespace oddrank::cpython
