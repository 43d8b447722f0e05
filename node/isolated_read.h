// What readers in children of their own (base/isolated.h) answer with: a capture, or an Error.
#pragma once

#include <chrono>
#include <string>

#include "base/isolated.h"
#include "base/result.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// For the child: sends the capture, or the Error.
void send_capture(int fd, const Result<snapshot::Capture>& capture);

// For the parent: the capture that the child sent; the Error that it sent; or what became of it, in
// words (kTimeout: "did not answer in 20 s", kIo: "the reader was ended by signal 11").
Result<snapshot::Capture> received_capture(const IsolatedResult& result,
                                           std::chrono::milliseconds timeout);

}  // namespace oddrank::node
