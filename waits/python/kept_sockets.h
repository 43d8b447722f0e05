// Finds the sockets that a Python thread has in variables of its frames, or in attributes of such
// variables. They show which thread of a server answers on a connection, whatever it waits for
// meanwhile.
#pragma once

#include "waits/python/python_waits.h"
#include "waits/thread_wait.h"

namespace oddrank::waits {

// Adds to the waits of all threads but the main one, which makes most connections itself. Knows
// socket.socket and multiprocessing.connection.Connection (CPython 3.8 to 3.15).
void read_kept_sockets(PythonWaits& all, const ProcessFiles& files);

}  // namespace oddrank::waits
