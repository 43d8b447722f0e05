#include "waits/device_calls.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/names/demangle.h"

namespace oddrank::waits {
namespace {

constexpr DeviceCall waits_in(std::string_view library, std::string_view function) {
  return {function, library, DeviceCallKind::kWaits};
}
constexpr DeviceCall may_wait(std::string_view library, std::string_view function) {
  return {function, library, DeviceCallKind::kMayWait};
}
constexpr DeviceCall polls_in(std::string_view library, std::string_view function) {
  return {function, library, DeviceCallKind::kPolls};
}

constexpr std::string_view kCuda = "libcuda.so";
constexpr std::string_view kCudart = "libcudart.so";
constexpr std::string_view kTorchCuda = "libc10_cuda.so";
constexpr std::string_view kNccl = "libnccl.so";
constexpr std::string_view kHip = "libamdhip64.so";
constexpr std::string_view kTorchHip = "libc10_hip.so";
constexpr std::string_view kHsa = "libhsa-runtime64.so";
constexpr std::string_view kZe = "libze_loader.so";
constexpr std::string_view kSycl = "libsycl.so";
constexpr std::string_view kTorchXpu = "libc10_xpu.so";
constexpr std::string_view kOpenCl = "libOpenCL.so";
constexpr std::string_view kSynapse = "libSynapse.so";
constexpr std::string_view kAcl = "libascendcl.so";
constexpr std::string_view kNeuron = "libnrt.so";

constexpr auto kDeviceCalls = std::to_array<DeviceCall>({
    // The CUDA driver.
    waits_in(kCuda, "cuCtxSynchronize"),
    waits_in(kCuda, "cuStreamSynchronize"),
    waits_in(kCuda, "cuEventSynchronize"),
    waits_in(kCuda, "cuMemcpy"),
    waits_in(kCuda, "cuMemcpyPeer"),
    waits_in(kCuda, "cuMemcpyHtoD"),
    waits_in(kCuda, "cuMemcpyDtoH"),
    waits_in(kCuda, "cuMemcpyDtoD"),
    waits_in(kCuda, "cuMemcpyDtoA"),
    waits_in(kCuda, "cuMemcpyAtoD"),
    waits_in(kCuda, "cuMemcpyHtoA"),
    waits_in(kCuda, "cuMemcpyAtoH"),
    waits_in(kCuda, "cuMemcpyAtoA"),
    waits_in(kCuda, "cuMemcpy2D"),
    waits_in(kCuda, "cuMemcpy2DUnaligned"),
    waits_in(kCuda, "cuMemcpy3D"),
    waits_in(kCuda, "cuMemcpy3DPeer"),
    polls_in(kCuda, "cuStreamQuery"),
    polls_in(kCuda, "cuEventQuery"),
    may_wait(kCuda, "cuInit"),
    may_wait(kCuda, "cuCtxCreate"),
    may_wait(kCuda, "cuCtxDestroy"),
    may_wait(kCuda, "cuDevicePrimaryCtxRetain"),
    may_wait(kCuda, "cuDevicePrimaryCtxRelease"),
    may_wait(kCuda, "cuDevicePrimaryCtxReset"),
    may_wait(kCuda, "cuStreamCreate"),
    may_wait(kCuda, "cuStreamDestroy"),
    may_wait(kCuda, "cuEventRecord"),
    may_wait(kCuda, "cuEventDestroy"),
    may_wait(kCuda, "cuLaunchKernel"),
    may_wait(kCuda, "cuLaunchKernelEx"),
    may_wait(kCuda, "cuLaunchCooperativeKernel"),
    may_wait(kCuda, "cuLaunchHostFunc"),
    may_wait(kCuda, "cuGraphLaunch"),
    may_wait(kCuda, "cuGraphInstantiate"),
    may_wait(kCuda, "cuGraphInstantiateWithFlags"),
    may_wait(kCuda, "cuGraphInstantiateWithParams"),
    may_wait(kCuda, "cuMemcpyAsync"),
    may_wait(kCuda, "cuMemcpyPeerAsync"),
    may_wait(kCuda, "cuMemcpyHtoDAsync"),
    may_wait(kCuda, "cuMemcpyDtoHAsync"),
    may_wait(kCuda, "cuMemcpyDtoDAsync"),
    may_wait(kCuda, "cuMemcpy2DAsync"),
    may_wait(kCuda, "cuMemcpy3DAsync"),
    may_wait(kCuda, "cuMemcpy3DPeerAsync"),
    may_wait(kCuda, "cuMemsetD8"),
    may_wait(kCuda, "cuMemsetD8Async"),
    may_wait(kCuda, "cuMemsetD16Async"),
    may_wait(kCuda, "cuMemsetD32Async"),
    may_wait(kCuda, "cuMemAlloc"),
    may_wait(kCuda, "cuMemAllocAsync"),
    may_wait(kCuda, "cuMemAllocManaged"),
    may_wait(kCuda, "cuMemAllocHost"),
    may_wait(kCuda, "cuMemHostAlloc"),
    may_wait(kCuda, "cuMemHostRegister"),
    may_wait(kCuda, "cuMemHostUnregister"),
    may_wait(kCuda, "cuMemFree"),
    may_wait(kCuda, "cuMemFreeAsync"),
    may_wait(kCuda, "cuMemFreeHost"),
    may_wait(kCuda, "cuMemCreate"),
    may_wait(kCuda, "cuMemRelease"),
    may_wait(kCuda, "cuMemMap"),
    may_wait(kCuda, "cuMemUnmap"),
    may_wait(kCuda, "cuMemSetAccess"),
    may_wait(kCuda, "cuMemExportToShareableHandle"),
    may_wait(kCuda, "cuMemImportFromShareableHandle"),
    // NVLink SHARP: NCCL makes them for its communicators.
    may_wait(kCuda, "cuMulticastCreate"),
    may_wait(kCuda, "cuMulticastAddDevice"),
    may_wait(kCuda, "cuMulticastBindMem"),
    may_wait(kCuda, "cuMulticastBindAddr"),
    may_wait(kCuda, "cuMulticastUnbind"),
    may_wait(kCuda, "cuIpcOpenMemHandle"),
    may_wait(kCuda, "cuIpcCloseMemHandle"),
    may_wait(kCuda, "cuModuleLoad"),
    may_wait(kCuda, "cuModuleLoadData"),
    may_wait(kCuda, "cuModuleLoadDataEx"),
    may_wait(kCuda, "cuModuleLoadFatBinary"),
    may_wait(kCuda, "cuModuleGetFunction"),
    may_wait(kCuda, "cuModuleUnload"),
    may_wait(kCuda, "cuLibraryLoadData"),
    may_wait(kCuda, "cuLibraryLoadFromFile"),
    may_wait(kCuda, "cuLibraryGetKernel"),
    may_wait(kCuda, "cuLibraryUnload"),
    may_wait(kCuda, "cuKernelSetAttribute"),
    may_wait(kCuda, "cuFuncSetAttribute"),

    // The CUDA runtime; in many programs it is linked statically.
    waits_in(kCudart, "cudaDeviceSynchronize"),
    waits_in(kCudart, "cudaThreadSynchronize"),
    waits_in(kCudart, "cudaStreamSynchronize"),
    waits_in(kCudart, "cudaEventSynchronize"),
    waits_in(kCudart, "cudaMemcpy"),
    waits_in(kCudart, "cudaMemcpyPeer"),
    waits_in(kCudart, "cudaMemcpyToSymbol"),
    waits_in(kCudart, "cudaMemcpyFromSymbol"),
    waits_in(kCudart, "cudaMemcpyToArray"),
    waits_in(kCudart, "cudaMemcpyFromArray"),
    waits_in(kCudart, "cudaMemcpyArrayToArray"),
    waits_in(kCudart, "cudaMemcpy2D"),
    waits_in(kCudart, "cudaMemcpy2DToArray"),
    waits_in(kCudart, "cudaMemcpy2DFromArray"),
    waits_in(kCudart, "cudaMemcpy2DArrayToArray"),
    waits_in(kCudart, "cudaMemcpy3D"),
    waits_in(kCudart, "cudaMemcpy3DPeer"),
    polls_in(kCudart, "cudaStreamQuery"),
    polls_in(kCudart, "cudaEventQuery"),
    may_wait(kCudart, "cudaDeviceReset"),
    may_wait(kCudart, "cudaLaunchKernel"),
    may_wait(kCudart, "cudaLaunchKernelExC"),
    may_wait(kCudart, "cudaLaunchCooperativeKernel"),
    may_wait(kCudart, "cudaLaunchHostFunc"),
    may_wait(kCudart, "cudaGraphLaunch"),
    may_wait(kCudart, "cudaGraphInstantiate"),
    may_wait(kCudart, "cudaMemcpyAsync"),
    may_wait(kCudart, "cudaMemcpyPeerAsync"),
    may_wait(kCudart, "cudaMemcpy2DAsync"),
    may_wait(kCudart, "cudaMemcpy3DAsync"),
    may_wait(kCudart, "cudaMemset"),
    may_wait(kCudart, "cudaMemsetAsync"),
    may_wait(kCudart, "cudaMalloc"),
    may_wait(kCudart, "cudaMallocAsync"),
    may_wait(kCudart, "cudaMallocHost"),
    may_wait(kCudart, "cudaMallocManaged"),
    may_wait(kCudart, "cudaHostAlloc"),
    may_wait(kCudart, "cudaHostRegister"),
    may_wait(kCudart, "cudaHostUnregister"),
    may_wait(kCudart, "cudaFree"),
    may_wait(kCudart, "cudaFreeAsync"),
    may_wait(kCudart, "cudaFreeArray"),
    may_wait(kCudart, "cudaFreeHost"),
    may_wait(kCudart, "cudaStreamCreateWithFlags"),
    may_wait(kCudart, "cudaStreamDestroy"),
    may_wait(kCudart, "cudaEventRecord"),
    may_wait(kCudart, "cudaEventDestroy"),
    may_wait(kCudart, "cudaIpcOpenMemHandle"),
    may_wait(kCudart, "cudaIpcCloseMemHandle"),

    // PyTorch's wrappers around a runtime that has no names.
    waits_in(kTorchCuda, "c10::cuda::device_synchronize"),
    waits_in(kTorchCuda, "c10::cuda::stream_synchronize"),
    waits_in(kTorchCuda, "c10::cuda::memcpy_and_sync"),
    waits_in(kTorchCuda, "c10::cuda::CUDAStream::synchronize"),
    waits_in(kTorchCuda, "at::cuda::CUDAEvent::synchronize"),
    polls_in(kTorchCuda, "c10::cuda::CUDAStream::query"),
    polls_in(kTorchCuda, "at::cuda::CUDAEvent::query"),
    waits_in(kTorchHip, "c10::hip::device_synchronize"),
    waits_in(kTorchHip, "c10::hip::stream_synchronize"),
    waits_in(kTorchHip, "c10::hip::memcpy_and_sync"),
    waits_in(kTorchHip, "c10::hip::HIPStream::synchronize"),
    waits_in(kTorchXpu, "c10::xpu::XPUStream::synchronize"),
    waits_in(kTorchXpu, "c10::xpu::syncStreamsOnDevice"),

    // NCCL and RCCL: what they do on the device, and the thread that feeds the network.
    waits_in(kNccl, "ncclCommAbort"),
    waits_in(kNccl, "ncclCommFinalize"),
    waits_in(kNccl, "ncclCommDestroy"),
    waits_in(kNccl, "ncclProxyProgress"),
    waits_in(kNccl, "ncclStrongStreamSynchronize"),
    waits_in(kNccl, "waitWorkFifoAvailable"),
    polls_in(kNccl, "ncclCommGetAsyncError"),

    // AMD: HIP and the runtime below it.
    waits_in(kHip, "hipDeviceSynchronize"),
    waits_in(kHip, "hipCtxSynchronize"),
    waits_in(kHip, "hipStreamSynchronize"),
    waits_in(kHip, "hipEventSynchronize"),
    waits_in(kHip, "hipMemcpy"),
    waits_in(kHip, "hipMemcpyWithStream"),
    waits_in(kHip, "hipMemcpyHtoD"),
    waits_in(kHip, "hipMemcpyDtoH"),
    waits_in(kHip, "hipMemcpyDtoD"),
    waits_in(kHip, "hipMemcpyPeer"),
    waits_in(kHip, "hipMemcpyToSymbol"),
    waits_in(kHip, "hipMemcpyFromSymbol"),
    waits_in(kHip, "hipMemcpy2D"),
    waits_in(kHip, "hipMemcpyParam2D"),
    waits_in(kHip, "hipMemcpy3D"),
    polls_in(kHip, "hipStreamQuery"),
    polls_in(kHip, "hipEventQuery"),
    may_wait(kHip, "hipLaunchKernel"),
    may_wait(kHip, "hipModuleLaunchKernel"),
    may_wait(kHip, "hipExtModuleLaunchKernel"),
    may_wait(kHip, "hipGraphLaunch"),
    may_wait(kHip, "hipMemcpyAsync"),
    may_wait(kHip, "hipMemsetAsync"),
    may_wait(kHip, "hipMalloc"),
    may_wait(kHip, "hipHostMalloc"),
    may_wait(kHip, "hipFree"),
    may_wait(kHip, "hipHostFree"),
    may_wait(kHip, "hipModuleLoadData"),
    may_wait(kHip, "hipStreamDestroy"),
    waits_in(kHsa, "hsa_signal_wait_relaxed"),
    waits_in(kHsa, "hsa_signal_wait_acquire"),
    waits_in(kHsa, "hsa_signal_wait_scacquire"),
    waits_in(kHsa, "hsa_amd_signal_wait_any"),
    waits_in(kHsa, "hsa_amd_signal_wait_all"),
    waits_in(kHsa, "hsaKmtWaitOnEvent"),
    waits_in(kHsa, "hsaKmtWaitOnEvent_Ext"),
    waits_in(kHsa, "hsaKmtWaitOnMultipleEvents"),
    waits_in(kHsa, "hsaKmtWaitOnMultipleEvents_Ext"),

    // Intel: Level Zero and SYCL above it.
    waits_in(kZe, "zeCommandQueueSynchronize"),
    waits_in(kZe, "zeCommandListHostSynchronize"),
    waits_in(kZe, "zeFenceHostSynchronize"),
    waits_in(kZe, "zeEventHostSynchronize"),
    polls_in(kZe, "zeFenceQueryStatus"),
    polls_in(kZe, "zeEventQueryStatus"),
    may_wait(kZe, "zeCommandQueueExecuteCommandLists"),
    may_wait(kZe, "zeMemFree"),
    may_wait(kZe, "zeModuleCreate"),
    waits_in(kSycl, "sycl::_V1::event::wait"),
    waits_in(kSycl, "sycl::_V1::event::wait_and_throw"),
    waits_in(kSycl, "sycl::_V1::queue::wait"),
    waits_in(kSycl, "sycl::_V1::queue::wait_and_throw"),
    waits_in(kSycl, "urQueueFinish"),
    waits_in(kSycl, "urEventWait"),

    // Others.
    waits_in(kOpenCl, "clFinish"),
    waits_in(kOpenCl, "clWaitForEvents"),
    waits_in(kSynapse, "synDeviceSynchronize"),
    waits_in(kSynapse, "synStreamSynchronize"),
    waits_in(kSynapse, "synEventSynchronize"),
    polls_in(kSynapse, "synStreamQuery"),
    polls_in(kSynapse, "synEventQuery"),
    waits_in(kAcl, "aclrtSynchronizeDevice"),
    waits_in(kAcl, "aclrtSynchronizeDeviceWithTimeout"),
    waits_in(kAcl, "aclrtSynchronizeStream"),
    waits_in(kAcl, "aclrtSynchronizeStreamWithTimeout"),
    waits_in(kAcl, "aclrtSynchronizeEvent"),
    waits_in(kAcl, "aclrtMemcpy"),
    polls_in(kAcl, "aclrtQueryEventStatus"),
    waits_in(kNeuron, "nrt_execute"),
    waits_in(kNeuron, "nrt_execute_repeat"),
});

// Each name of C++ in the table has one of these in it: most are ruled out without demangling.
constexpr std::array<std::string_view, 4> kHints = {"cuda", "hip", "xpu", "sycl"};

// Each name in the table begins with one of these, once it is readable.
constexpr std::array<std::string_view, 15> kNameStarts = {
    "cu", "hip", "hsa",  "nccl", "pnccl", "wait", "ze",    "ur",
    "cl", "syn", "aclr", "nrt_", "c10::", "at::", "sycl::"};

constexpr std::array kPythonCalls = {
    FramePattern{"synchronize", "torch/cuda/__init__.py"},
    FramePattern{"synchronize", "torch/cuda/streams.py"},
    FramePattern{"synchronize", "torch/xpu/__init__.py"},
    FramePattern{"synchronize", "torch/xpu/streams.py"},
    FramePattern{"synchronize", "torch/mps/__init__.py"},
    FramePattern{"synchronize", "torch/mps/event.py"},
    FramePattern{"synchronize", "torch/mtia/__init__.py"},
    FramePattern{"synchronize", "torch/accelerator/__init__.py"},
    FramePattern{"synchronize", "habana_frameworks/torch/hpu/__init__.py"},
    FramePattern{"synchronize", "torch_npu/npu/utils.py"},
};

// Removes what only distinguishes versions of one function: "cuMemcpyDtoH_v2_ptds" (cuda.h renames
// by macro), "hipMemcpy_spt", "pncclCommAbort" (NCCL's names for profilers).
std::string_view without_version(std::string_view name) {
  for (const std::string_view suffix : {"_ptds", "_ptsz", "_spt"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
    }
  }
  constexpr std::size_t kVersion = 3;  // "_v2"
  if (name.size() > kVersion && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v' &&
      name.back() >= '0' && name.back() <= '9') {
    name.remove_suffix(kVersion);
  }
  if (name.starts_with("pnccl")) {
    name.remove_prefix(1);
  }
  return name;
}

}  // namespace

std::span<const DeviceCall> device_calls() {
  return kDeviceCalls;
}

const DeviceCall* find_device_call(std::string_view symbol) {
  std::string readable;
  if (symbol.starts_with("_Z")) {
    const bool worth_it = std::any_of(kHints.begin(), kHints.end(), [&](std::string_view hint) {
      return symbol.find(hint) != std::string_view::npos;
    });
    if (!worth_it) {
      return nullptr;
    }
    readable = short_name(symbol);
    symbol = readable;
  } else if (std::none_of(kNameStarts.begin(), kNameStarts.end(),
                          [&](std::string_view start) { return symbol.starts_with(start); })) {
    return nullptr;
  }
  const std::string_view name = without_version(symbol);
  const auto* at = std::find_if(kDeviceCalls.begin(), kDeviceCalls.end(),
                                [name](const DeviceCall& call) { return call.function == name; });
  return at == kDeviceCalls.end() ? nullptr : at;
}

std::span<const FramePattern> python_device_calls() {
  return kPythonCalls;
}

}  // namespace oddrank::waits
