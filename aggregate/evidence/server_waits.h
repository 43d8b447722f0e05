// Waits between servers and their clients that no single connection shows: who accepts connections,
// who has connected, and which threads answer beside the one that speaks for their rank.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregate/evidence/slots.h"
#include "aggregate/solver/graph_algorithms.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns the ranks (indices) that wait at a connection to the port at which `at` waits for more of
// them, in accept() or in select() and its like at nothing but sockets that listen; empty if it
// waits otherwise. That they wait for it does not tell that it holds them up: it may itself wait
// for the one that has not connected yet. Local sockets have no port: each connection counts.
std::vector<std::size_t> connected_ranks(const JobView& view, std::size_t at);

// Returns the threads of `server` other than `speaker` that may be at work on an answer, if it is
// not known which thread has the connection: those that wait for another thread of their process.
std::vector<const snapshot::ThreadCapture*> answering_threads(
    const snapshot::Wait& waiter,
    const snapshot::ProcessCapture& server,
    const snapshot::ThreadCapture* speaker);

// Returns whether a thread of `server` other than `speaker` may be the one to answer: it waits at
// the other end of the waiter's connection, or listens at that port while some connections have not
// been accepted. What the speaker waits for is then nothing to the waiter. (The ends of local
// sockets have no address: any Python thread counts that waits at such a socket.)
bool answers_beside(const JobView& view,
                    const snapshot::Wait& waiter,
                    const snapshot::ProcessCapture& server,
                    const snapshot::ThreadCapture* speaker);

// Returns whether nothing but a new connection ends the wait: it is in accept(), or in select() and
// its like at nothing but sockets that listen.
bool awaits_connections(const JobView& view, const snapshot::Wait& wait);

// Returns whether it also waits for a file of the kernel (an eventfd) by which a library's thread,
// or the program's, wakes it.
bool has_waker(const JobView& view, const snapshot::Wait& wait);

// Returns whether the rank waits for new connections, or for what a thread of it gets that does,
// and no other rank waits at a connection: it may be a server without requests, which holds nobody
// up, or wait for somebody outside of the job. A server gives its work to the others: if the root
// of a call has already given what this one is to take, it is not idle.
bool may_be_idle(const JobView& view, const std::vector<Slot>& slots, std::size_t at);

// Returns whether the rank may be idle, and waits for what another thread brings that is known to
// listen.
bool waits_for_listener(const JobView& view, const std::vector<Slot>& slots, std::size_t at);

// Returns whether a thread of the process other than `waiting` takes in what other processes send:
// it waits at connections, or for new ones, and is no thread of a collective library or a pool.
// What it gets may end any wait of a thread of its process.
bool takes_requests(const JobView& view,
                    const snapshot::ProcessCapture& process,
                    const snapshot::ThreadCapture* waiting);

// Returns whether the rank waits for its own process, of which no thread is at work, and one takes
// in what other processes send: that may bring what the rank waits for.
bool is_open(const JobView& view, const RankView& rank);

// The nodes that wait for a server, by the edges that there were at the first question. Borrows
// them.
class ServerClients {
 public:
  explicit ServerClients(const Adjacency& out) : out_(out) {}

  // Returns the distance of each node to the server; kFar: it does not wait for it. nullopt after
  // so many servers, as each needs a search through the graph.
  std::optional<std::vector<std::size_t>> distances_to(std::size_t server);

 private:
  const Adjacency& out_;
  Adjacency in_;
  std::size_t servers_ = 0;
};

}  // namespace oddrank::aggregate
