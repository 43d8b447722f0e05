#include "waits/device_calls.h"

#include <set>
#include <string>

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

TEST_CASE("each call is found by its name, and has one row") {
  std::set<std::string_view> names;
  for (const DeviceCall& call : device_calls()) {
    INFO(call.function);
    CHECK(names.insert(call.function).second);
    CHECK(find_device_call(call.function) == &call);
  }
}

TEST_CASE("versions of a call count as the call") {
  const auto found = [](std::string_view symbol) {
    const DeviceCall* call = find_device_call(symbol);
    return call == nullptr ? std::string_view() : call->function;
  };
  CHECK(found("cuMemcpyDtoH_v2") == "cuMemcpyDtoH");
  CHECK(found("cuMemcpyDtoH_v2_ptds") == "cuMemcpyDtoH");
  CHECK(found("cudaStreamSynchronize_ptsz") == "cudaStreamSynchronize");
  CHECK(found("hipMemcpy_spt") == "hipMemcpy");
  CHECK(found("pncclCommAbort") == "ncclCommAbort");
  CHECK(found("_ZN3c104cuda18device_synchronizeEv") == "c10::cuda::device_synchronize");
  CHECK(found("_ZNK2at4cuda9CUDAEvent11synchronizeEv") == "at::cuda::CUDAEvent::synchronize");
}

TEST_CASE("names that only look alike are not in the table") {
  for (const std::string_view symbol :
       {"my_cuStreamSynchronize_helper", "cuStreamSynchronizeAll", "cuStreamSynchronize_v2x",
        "synchronize", "cu", "", "_v2", "_ZN5train4cuda11synchronizeEv", "cudaMemcpyAsyncs"}) {
    INFO(symbol);
    CHECK(find_device_call(symbol) == nullptr);
  }
}

}  // namespace
}  // namespace oddrank::waits
