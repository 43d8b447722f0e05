// Tells code that a function of torch.distributed runs before or after it calls the communication
// library from code that is part of the call.
#pragma once

#include <string_view>

namespace oddrank::snapshot {

// Returns whether a Python frame inside of such a function is of such code: not torch's own (a
// method by which an object is pickled, a handler of a signal, a finaliser), or torch's that makes
// objects into tensors and back. The library may still be called from there.
constexpr bool runs_beside_call(std::string_view function, std::string_view file) {
  return file.find("torch/") == std::string_view::npos || function == "_object_to_tensor" ||
         function == "_tensor_to_object";
}

}  // namespace oddrank::snapshot
