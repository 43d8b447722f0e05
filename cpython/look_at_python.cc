#include "cpython/look_at_python.h"

#include <utility>

#include "cpython/python_process.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

Result<PythonLook> look_at_python(const attach::Target& target) {
  elf::ModuleMap modules(target);
  ODDRANK_TRY(PythonProcess python, PythonProcess::find(target, modules));
  ODDRANK_TRY(const auto threads, python.threads(Locals::kNone));
  auto look = python.take_look();
  if (!look) {
    return fail(Errc::kBadData, std::to_string(threads.size()) + " Python threads, but no frames");
  }
  return *std::move(look);
}

}  // namespace oddrank::cpython
