// Recognises ZeroMQ's threads: a program's threads that wait for a message, and the library's own,
// which have the connections. Plain data.
#pragma once

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// Returns whether a thread of the program waits within libzmq until one of its I/O threads wakes
// it.
bool is_in_message_queue(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

// Returns whether it is one of the library's I/O threads.
bool is_message_queue_io(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables);

}  // namespace oddrank::waits
