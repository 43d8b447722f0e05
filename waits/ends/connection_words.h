// What is said of a TCP connection that a thread waits for: its ends, its state, what lies in its
// queues, how long it has been silent, whether a store of torch.distributed or TLS is above it.
#pragma once

#include <string>

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "waits/ends/socket_diag.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {

// " (the store of MASTER_PORT)", " (a store)"; "" if it is none, or nothing shows it. A store
// listens at the rank's MASTER_PORT, or at any other where a program makes its own; then the
// thread's frames tell.
std::string store_words(const snapshot::ProcessCapture& process,
                        const snapshot::ThreadCapture& thread,
                        const std::string& peer,
                        const snapshot::Tables& tables);

// By the names of OpenSSL's functions, or of Python's module around them.
bool is_below_tls(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

// "TCP 10.0.0.1:40112 to 10.0.0.2:29500 (a store), ESTABLISHED, 4 bytes not acknowledged, nothing
// received for 61 s, over TLS". `silence` may be null.
std::string connection_words(const SocketRow& row,
                             const std::string& store,
                             const TcpSilence* silence,
                             bool tls);

}  // namespace oddrank::waits
