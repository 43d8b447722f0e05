#include "elf/symbol_name.h"

#include "tests/support/catch.h"

namespace oddrank::elf {
namespace {

TEST_CASE("symbol_name: marks of clones, parts and versions are removed") {
  CHECK(plain_symbol("memcpy@@GLIBC_2.14") == "memcpy");
  CHECK(plain_symbol("read@GLIBC_2.2.5") == "read");
  CHECK(plain_symbol("_PyEval_EvalFrameDefault.cold") == "_PyEval_EvalFrameDefault");
  CHECK(plain_symbol("step.constprop.0") == "step");
  CHECK(plain_symbol("step.isra.12.cold") == "step");
  CHECK(plain_symbol("step.part.3.constprop.0.cold") == "step");
  CHECK(plain_symbol("run_mod.lto_priv.0") == "run_mod");
  CHECK(plain_symbol("_ZN1A1fEv.llvm.1234567890") == "_ZN1A1fEv");
}

TEST_CASE("symbol_name: the part that a person wrote stays") {
  for (const char* name : {"", "main", "lock.release", "counter.0", ".hidden", ".cold", "a.b.1"}) {
    CHECK(plain_symbol(name) == name);
  }
}

}  // namespace
}  // namespace oddrank::elf
