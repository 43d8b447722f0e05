// What is known of a TCP connection that a thread waits for: its ends, its state, what lies in its
// queues, how long it has been silent, whether a store of torch.distributed or TLS is above it.
#pragma once

#include <string>

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "waits/ends/socket_diag.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {

// kNone: nothing shows one. A store listens at the rank's MASTER_PORT, or at any other where a
// program makes its own; then the thread's frames tell.
snapshot::Store store_of(const snapshot::ProcessCapture& process,
                         const snapshot::ThreadCapture& thread,
                         const std::string& peer,
                         const snapshot::Tables& tables);

// By the names of OpenSSL's functions, or of Python's module around them.
bool is_below_tls(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

// Fills in the addresses, the state and the numbers of `file`. `silence` may be null.
void set_connection(const SocketRow& row,
                    const TcpSilence* silence,
                    snapshot::Tables& tables,
                    snapshot::AwaitedFile& file);

}  // namespace oddrank::waits
