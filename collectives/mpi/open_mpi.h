// Objects of Open MPI in a target's memory. They are recognised by their class: the first word of
// an object leads to its class, whose first word leads to its name. No symbol is needed.
//
// Sources: opal/class/opal_object.h, ompi/communicator/communicator.h, ompi/group/group.h,
// ompi/proc/proc.h, ompi/request/request.h, ompi/mca/pml/base/pml_base_request.h; offsets measured
// with 4.1.4 and 5.0.11. Two layouts are known; each is used only if the objects that it leads to
// fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/mpi/mpi_objects.h"
#include "cpython/remote_reader.h"

namespace oddrank::collectives {

using attach::Addr;

class OpenMpiReader {
 public:
  // Borrows the reader.
  explicit OpenMpiReader(cpython::RemoteReader& reader) : reader_(reader) {}

  // Returns the name of the object's class, "ompi_communicator_t"; "" if it is not such an object.
  std::string class_of(Addr object);
  // Return nullopt if the object is not one, or does not fit; request() also if it is complete.
  std::optional<MpiCommunicator> communicator(Addr object);
  std::optional<MpiRequest> request(Addr object);
  // Returns the locks of a window, from the object by which a call requests one (osc/rdma; 4.1).
  std::optional<WindowLocks> locks(Addr object);

 private:
  struct Layout;
  struct ProcessName {
    std::uint32_t job = 0;
    std::uint32_t rank = 0;  // in its job
  };
  static const Layout& old_layout();
  static const Layout& new_layout();

  const Layout* layout_of(Addr communicator);
  std::string name_of(Addr communicator, const Layout& layout);
  std::optional<ProcessName> process_name(std::uint64_t word);
  std::vector<std::int32_t> members_of(Addr group, std::int32_t size);
  std::int64_t receives_of(Addr communicator);
  struct LockObject;
  std::optional<LockObject> lock_object(Addr object);

  cpython::RemoteReader& reader_;
};

}  // namespace oddrank::collectives
