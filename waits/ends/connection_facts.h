// What is known about a TCP connection that a thread waits for: its ends, its state, the bytes in
// its queues, how long it has been silent, whether it carries a store of torch.distributed or TLS.
#pragma once

#include <string>

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "waits/ends/socket_diag.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {

// Returns the store that the connection carries; kNone if nothing shows one. The store of a
// process that has a library of collectives loaded listens at its MASTER_PORT, and a thread that
// waits there is inside of torch, if its frames could be read; any other process or thread may have
// a server of its own there. If a program makes its own store at another port, the thread's frames
// show it.
snapshot::Store store_of(const snapshot::ProcessCapture& process,
                         const snapshot::ThreadCapture& thread,
                         const std::string& peer,
                         const snapshot::Tables& tables);

// Returns whether the thread waits inside TLS, by the names of OpenSSL's functions or of Python's
// module around them.
bool is_below_tls(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

// Fills in the addresses, the state and the numbers of `file`. `info` may be null.
void set_connection(const SocketRow& row,
                    const TcpInfo* info,
                    snapshot::Tables& tables,
                    snapshot::AwaitedFile& file);

}  // namespace oddrank::waits
