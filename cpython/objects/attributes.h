// Attributes of instances and modules: what their dicts hold, in each of the ways in which CPython
// keeps them. Nothing of the target is executed: properties, slots and class attributes are not
// seen.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cpython/layouts/layout.h"
#include "cpython/objects/dicts.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

// The instance's own attributes; empty if it has none or they cannot be read.
std::vector<DictItem> read_attributes(RemoteReader& reader, const Layout& layout, Addr object);

// One of them; null if it is not there.
Addr read_attribute(RemoteReader& reader, const Layout& layout, Addr object, std::string_view name);

// Fetches what read_attributes will want of these objects, in few system calls.
void prefetch_attributes(RemoteReader& reader, const Layout& layout, std::span<const Addr> objects);

// The names of a module; empty if `module` is none.
std::vector<DictItem> read_module(RemoteReader& reader, const Layout& layout, Addr module);

// sys.modules[name] of an interpreter; null if it was not imported.
Addr find_module(RemoteReader& reader,
                 const Layout& layout,
                 Addr interpreter,
                 std::string_view name);

}  // namespace oddrank::cpython
