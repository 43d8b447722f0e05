// Python objects as short text, for the locals of a frame. Nothing of the target is executed; only
// builtin types are looked into, to a small depth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

// 1207 · True · None · 0.5 · 'text' (escaped, cut at 80 characters with "...") · <bytes of 12>
// (1, 2) · [1, 2, ... 40 items] · <dict of 3> · <int of 300 bits> · <ndarray (2, 3) float32>, see
// arrays.h · <Model> for every other type, but those of telling_types.h: <ProcessGroup at 0x7f31c0>
// or <P2POp op=<function at 0x7f3210> peer=3 group=<ProcessGroup at 0x7f31c0>> · <unreadable>.
std::string print_object(RemoteReader& reader, const Layout& layout, Addr object);

// A number, bool, None or str; subclasses of int and str count.
bool is_plain(RemoteReader& reader, const Layout& layout, Addr object);

// Of one of the types that tell in which group a collective is (telling_types.h), or a list or
// tuple that begins with one.
bool is_telling(RemoteReader& reader, const Layout& layout, Addr object);

// An int (or bool) of at most 60 bits; nullopt if it is none, is longer or cannot be read.
std::optional<std::int64_t> read_int(RemoteReader& reader, const Layout& layout, Addr object);

}  // namespace oddrank::cpython
