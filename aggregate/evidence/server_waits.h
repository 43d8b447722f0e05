// Waits between servers and their clients that no single connection shows: which ranks accept
// connections, which have connected, and which threads answer beside their rank's deciding thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregate/evidence/slots.h"
#include "aggregate/solver/graph_algorithms.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the ranks (indices) that wait at a connection to the port at which `at` waits for new
// connections (awaits_connections()); empty if it waits otherwise. It does not follow that `at`
// holds them up: it may wait for a rank that has not connected yet. Local sockets have no port:
// each connection counts.
std::vector<std::size_t> connected_ranks(const JobView& view, std::size_t at);

// Returns the threads of `server`, without `speaker`, that may be at work on an answer if it is not
// known which thread has the connection: those that wait for another thread of their process.
std::vector<const snapshot::ThreadCapture*> answering_threads(
    const snapshot::Wait& waiter,
    const snapshot::ProcessCapture& server,
    const snapshot::ThreadCapture* speaker);

// Returns whether a thread of `server` other than `speaker` may have to answer: it waits at the
// other end of the waiter's connection, or listens at that port while some connections are not
// accepted yet. What the speaker waits for then does not matter to the waiter. (The ends of local
// sockets have no address: any Python thread counts that waits at such a socket.)
bool answers_beside(const JobView& view,
                    const snapshot::Wait& waiter,
                    const snapshot::ProcessCapture& server,
                    const snapshot::ThreadCapture* speaker);

// Returns whether nothing but a new connection ends the wait: it is in accept(), or in select() and
// its like at nothing but sockets that listen.
bool awaits_connections(const JobView& view, const snapshot::Wait& wait);

// Returns whether the wait also includes a file (an eventfd) by which another thread, a library's
// or the program's, wakes this one.
bool has_waker(const JobView& view, const snapshot::Wait& wait);

// Returns whether the rank may be a server without requests, which holds up no rank, or wait for a
// client outside of the job: it, or a thread that passes requests to it, waits for new connections,
// and no other rank waits at a connection. It is not idle if the root of a call has already given
// what this rank has to take.
bool may_be_idle(const JobView& view, const std::vector<Slot>& slots, std::size_t at);

// Returns whether the rank may be idle, and waits for what a listening thread of its process
// brings.
bool waits_for_listener(const JobView& view, const std::vector<Slot>& slots, std::size_t at);

// Returns whether a thread of the process other than `waiting` takes in what other processes send:
// it waits at connections, or for new ones, and is no thread of a collective library or a pool.
// What it gets may end any wait in its process.
bool takes_requests(const JobView& view,
                    const snapshot::ProcessCapture& process,
                    const snapshot::ThreadCapture* waiting);

// Returns whether the rank waits for its own process, in which no thread is at work and one takes
// in what other processes send: that may bring what the rank waits for.
bool is_open(const JobView& view, const RankView& rank);

// The nodes that wait for a server, by the edges at the time of the first question. Borrows them.
class ServerClients {
 public:
  explicit ServerClients(const Adjacency& out) : out_(out) {}

  // Returns the distance of each node to the server; kFar: the node does not wait for it. nullopt
  // after 64 servers, since each needs a search through the graph.
  std::optional<std::vector<std::size_t>> distances_to(std::size_t server);

 private:
  const Adjacency& out_;
  Adjacency in_;
  std::size_t servers_ = 0;
};

}  // namespace oddrank::aggregate
