// Finds the connections in the variables of frames, or in an attribute of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

enum class SocketHolder : std::uint8_t {
  kThread,  // has sockets, and connections of multiprocessing
  kTask,    // has sockets, those of trio, and transports of asyncio's own loops
};

class SocketSearch {
 public:
  // Borrows `memory`. `max_owners`: the number of objects whose attributes are read, in all calls
  // together.
  SocketSearch(PythonMemory& memory, SocketHolder holder, std::size_t max_owners)
      : memory_(memory), holder_(holder), owners_left_(max_owners) {}

  // Returns the descriptors of the first 32 frames, by frame, in order. The first frame counts if
  // several have one.
  std::vector<std::vector<int>> by_frame(std::span<const RawFrame> frames);

 private:
  enum class Kind : std::uint8_t { kOther, kSocket, kWrapped, kConnection, kTransport, kCode };

  Kind by_name(std::string_view type) const;
  Kind kind_of(Addr value);
  int descriptor(Addr value, Kind kind);
  void add_attributes(Addr owner, std::vector<int>& found);

  PythonMemory& memory_;
  SocketHolder holder_;
  std::size_t owners_left_;
  std::unordered_map<std::uint64_t, Kind> kinds_;  // by type
};

}  // namespace oddrank::cpython
