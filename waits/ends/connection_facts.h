// What is known about a TCP connection that a thread waits for: its ends, its state, the bytes in
// its queues, how long it has been silent, whether it carries a store of torch.distributed or TLS.
//
// Recognises ZeroMQ's threads: a program's threads that wait for a message, and the library's own,
// which have the connections. Plain data.
#pragma once

#include <string>

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"
#include "waits/ends/socket_diag.h"
#include "waits/ends/socket_table.h"

namespace oddrank::waits {

// Returns the store that the connection carries; kNone if nothing shows one. A store is at the
// MASTER_PORT of a process that has loaded a library of collectives, and a thread that waits there
// is inside of torch, if its frames could be read; otherwise another server may be at that port. A
// store that a program has made at another port is known by the thread's frames.
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

// Returns whether a thread of the program waits within libzmq until one of its I/O threads wakes
// it.
bool is_in_message_queue(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

// Returns whether it is one of the library's I/O threads.
bool is_message_queue_io(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

}  // namespace oddrank::waits
