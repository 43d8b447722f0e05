// The place where the members of a process group met: the store below all PrefixStores of the
// group's own store, and their prefixes. If the default group has another store, the group was made
// by hand (as RL frameworks do to join trainers and inference engines): its members have numbers of
// their own, and may belong to another job.
//
//   c10d::PrefixStore   vtable, reference counts, timeout_, prefix_, store_
//   c10d::TCPStore      vtable, reference counts, timeout_, host, port
//   c10d::FileStore     vtable, reference counts, timeout_, path
//
// Sources: torch/csrc/distributed/c10d/{Store,PrefixStore,TCPStore,FileStore}.hpp of 2.13. A store
// is recognised by its class's name (cxx_object.h) and by texts that fit.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "collectives/torch/cxx_object.h"
#include "cpython/python_memory.h"
#include "cpython/python_process.h"

namespace oddrank::collectives {

struct MeetingPlace {
  Addr base{};           // the store below all PrefixStores
  std::string where;     // "10.0.0.1:29500", "/shared/meet"; "" = a store of another kind
  std::string prefixes;  // outermost last: "default_pg/weights/"
  std::optional<std::chrono::milliseconds> timeout;  // known only with a prefix, which shows where
                                                     // it is

  bool operator==(const MeetingPlace&) const = default;
};

// Returns nullopt if there is no store, or it does not look as expected. `store`: the Python object
// of a group's store.
std::optional<MeetingPlace> read_meeting_place(cpython::PythonMemory& memory, Addr store);

// Returns the timeout of the default group. nullopt: there is no such group yet, or its timeout is
// unknown.
std::optional<std::chrono::milliseconds> read_group_timeout(const cpython::PythonProcess& python);

}  // namespace oddrank::collectives
