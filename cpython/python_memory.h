// The memory of one Python: reads of it, and its layout.
//
// Neither is of use without the other, so all readers of Python's objects take this one type, by
// reference: each read may fetch pages. Code that needs no layout (for C++ objects, glibc's
// structs) takes its base, RemoteReader.
#pragma once

#include "attach/target.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

class PythonMemory final : public RemoteReader {
 public:
  // Keeps a copy of the layout. `target` must outlive the object.
  PythonMemory(const attach::Target& target, const Layout& layout)
      : RemoteReader(target), layout_(layout) {}

  // Valid until the object is moved.
  const Layout& layout() const { return layout_; }

 private:
  Layout layout_;
};

}  // namespace oddrank::cpython
