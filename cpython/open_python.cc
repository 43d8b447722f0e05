#include "cpython/open_python.h"

#include <utility>

#include "cpython/python_process.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

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
