// Names that are looked up by their hash in the dicts of real interpreters.
#include <sys/syscall.h>

#include <string>

#include "attach/live_target.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "tests/live/python_interpreters.h"
#include "tests/support/catch.h"
#include "tests/support/victim.h"

namespace oddrank {
namespace {

using attach::Addr;
using cpython::PythonMemory;
using cpython::PythonProcess;
using test::Victim;

constexpr unsigned kFirstHashed = 7;

std::string name_of(int number) {
  return "name_" + std::to_string(number);
}

// Checks names of a module as the victim filled it: all of a small one, a few of a large one.
void check_module(const PythonProcess& python, const std::string& name, int count) {
  INFO(name);
  PythonMemory memory = python.memory();
  const Addr module = cpython::find_module(memory, python.main_interpreter(), name);
  REQUIRE(module != Addr{});
  const int step = count > 1000 ? 997 : 1;
  for (int i = 0; i < count; i += step) {
    const Addr value = cpython::find_global(memory, module, name_of(i));
    INFO(i);
    CHECK((value == Addr{}) == (i % 7 == 0));
    CHECK((value == Addr{} || cpython::read_int(memory, value) == i));
  }
  for (int i = count; i < count + 50; ++i) {
    CHECK(cpython::find_global(memory, module, name_of(i)) == Addr{});
  }
  CHECK(cpython::find_global(memory, module, "") == Addr{});
  CHECK(cpython::find_global(memory, module, "n\u00e4me_1") == Addr{});
}

void check_instance(const PythonProcess& python, const char* name, int count) {
  INFO(name);
  PythonMemory memory = python.memory();
  const Addr module = cpython::find_module(memory, python.main_interpreter(), "objects");
  const Addr object = cpython::find_global(memory, module, name);
  REQUIRE(object != Addr{});
  for (int i = 0; i < count; ++i) {
    const Addr value = cpython::read_attribute(memory, object, name_of(i));
    CHECK((value != Addr{} && cpython::read_int(memory, value) == i));
  }
  CHECK(cpython::read_attribute(memory, object, name_of(count)) == Addr{});
}

// One of 60,000 names costs a few pages: no other names are read.
void check_cost(const PythonProcess& python) {
  PythonMemory memory = python.memory();
  const Addr module = cpython::find_module(memory, python.main_interpreter(), "names_60000");
  const auto before = memory.calls();
  CHECK(cpython::find_global(memory, module, "name_59999") != Addr{});
  CHECK(cpython::find_global(memory, module, "name_60000") == Addr{});
  CHECK(memory.calls() - before < 40);
  CHECK(memory.hasher().hash("name").has_value());
  CHECK_FALSE(memory.hasher().hash("n\u00e4me").has_value());
}

}  // namespace

TEST_CASE("names are found in the dicts of every interpreter", "[python]") {
  std::size_t tried = 0;
  for (const test::Interpreter& interpreter : test::find_interpreters()) {
    if (interpreter.minor < 6 || interpreter.minor > 15) {
      continue;
    }
    INFO(interpreter.path);
    auto victim = Victim::start({interpreter.path, test::victim_script("python_names.py")});
    REQUIRE(victim);
    REQUIRE(victim->wait_line("ready"));
    REQUIRE(victim->wait_syscall(SYS_read));
    const auto target = attach::LiveTarget::open(victim->pid());
    REQUIRE(target);
    elf::ModuleMap modules(**target);
    const auto python = PythonProcess::find(**target, modules);
    REQUIRE(python);
    ++tried;
    for (const int count : {3, 100, 300, 60000}) {
      check_module(*python, "names_" + std::to_string(count), count);
    }
    check_module(*python, "changed", 300);
    check_module(*python, "grown", 300);
    check_instance(*python, "few", 5);
    check_instance(*python, "many", 200);
    if (interpreter.minor >= kFirstHashed) {
      check_cost(*python);
    }
  }
  if (tried == 0) {
    ODDRANK_SKIP("no Python 3.6 to 3.15 in ODDRANK_PYTHONS, ~/.pyenv, /usr/bin");
  }
}

}  // namespace oddrank
