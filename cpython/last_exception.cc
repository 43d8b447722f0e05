#include "cpython/last_exception.h"

#include "cpython/objects/attributes.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {

std::string last_exception(const PythonProcess& python) {
  PythonMemory memory = python.memory();
  const Addr sys = find_module(memory, python.main_interpreter(), "sys");
  if (sys == Addr{}) {
    return {};
  }
  const Addr type = find_global(memory, sys, "last_type");
  // At exit the names of sys are set to None, one after the other.
  if (type == Addr{} || !is_instance(memory, type, TypeFlag::kType)) {
    return {};
  }
  return name_of_type(memory, type);
}

}  // namespace oddrank::cpython
