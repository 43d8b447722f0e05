// The memory of one Python: reads, the layout, and the hash of names.
//
// All readers of Python's objects need all three, so they take this type, by reference: each read
// may fetch pages. Code that needs no layout (for C++ objects, glibc's structs) takes its base,
// RemoteReader.
#pragma once

#include "attach/target.h"
#include "cpython/layouts/layout.h"
#include "cpython/objects/string_hash.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

class PythonMemory final : public RemoteReader {
 public:
  // Keeps a copy of the layout. `target` must outlive the object. `hash_secret` is the address of
  // _Py_HashSecret; without it, a search for a name reads all keys of a dict.
  PythonMemory(const attach::Target& target, const Layout& layout, Addr hash_secret = {})
      : RemoteReader(target), layout_(layout), hasher_(hash_secret) {}

  // Valid until the object is moved.
  const Layout& layout() const { return layout_; }
  StringHasher& hasher() { return hasher_; }

 private:
  Layout layout_;
  StringHasher hasher_;
};

}  // namespace oddrank::cpython
