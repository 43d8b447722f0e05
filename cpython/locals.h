// Fast locals of a frame: arguments and variables in source order, cells looked into.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/layouts/layout.h"
#include "cpython/python_process.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

inline constexpr std::size_t kLocalLimit = 64;  // a frame

// Those that are bound at this moment; `plain_only`: numbers, bools, None and texts. The values of
// names that sound like secrets are "<hidden>". Empty if the frame or its names cannot be read.
std::vector<PythonLocal> read_locals(RemoteReader& reader,
                                     const Layout& layout,
                                     const RawFrame& frame,
                                     bool plain_only);

// The object that a variable refers to; null if there is none of this name, or it is not bound.
Addr read_local(RemoteReader& reader,
                const Layout& layout,
                const RawFrame& frame,
                std::string_view name);

// Fetches what read_locals will want of these frames, in few system calls.
void prefetch_locals(RemoteReader& reader, const Layout& layout, std::span<const RawFrame> frames);

// Whether the name contains token, password, secret, key or credential, in any case.
bool sounds_secret(std::string_view name);

}  // namespace oddrank::cpython
