// What a reader in a child of its own (base/isolated.h) sends to its parent: a capture or an Error.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/isolated.h"
#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Enough readers to keep some cores busy, few enough to leave the job its own.
inline constexpr std::size_t kReadersAtOnce = 4;

// Sends the capture, or the Error (in the child).
void send_capture(int fd, const Result<snapshot::Capture>& capture);

// Returns the capture or the Error that the child sent (in the parent). If it sent neither, an
// Error says how the child ended (kTimeout: "did not answer in 20 s", kIo: "the reader was ended by
// signal 11") or that the capture is incomplete (kIo).
Result<snapshot::Capture> received_capture(const IsolatedResult& result,
                                           std::chrono::milliseconds timeout);

}  // namespace oddrank::node
