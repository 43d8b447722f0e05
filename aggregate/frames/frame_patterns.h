// The catalogue of functions and modules that are known by their names, as data: which frames are
// internals of an interpreter or a library and are not shown, and which frames tell a story (a
// loader, a debugger, a request to a service). To teach oddrank a new library, add a row to
// frame_patterns.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snapshot/frame.h"
#include "snapshot/libraries/known_libraries.h"
#include "snapshot/loops/python_loop.h"

namespace oddrank::aggregate {

enum class FrameRole : std::uint8_t {
  kPlain =
      0,      // shown inside of the innermost Python frame, if there is no Python, or if the user's
  kKey,       // shown everywhere: a communication library's own functions
  kInternal,  // never shown
  kInCall,    // never shown, but a thread in it is at work, not idle
  kLibc,      // in a run of these, only the outermost is shown: the call that was made
  kThreadStart,  // the outer end of a stack
};

enum class Story : std::uint8_t {
  kNone = 0,         // the row tells a role
  kLoader,           // waits for batches of its input pipeline
  kLoaderWorker,     // is a worker of an input pipeline
  kPoolWorker,       // is a worker process of a pool
  kQueueIdle,        // waits for work: no sign of trouble
  kQueueFeeder,      // sends what other threads put into a queue
  kFailed,           // handles an error, or runs an exit handler
  kEnds,             // has left the program's main function in order
  kAborts,           // a process ends itself: its caller is of interest
  kExternal,         // talks to a service outside of the job
  kSleep,            // sleeps on purpose
  kYields,           // lets others run, and goes on
  kPolls,            // a library asks for something again and again; words: its function
  kDatabase,         // is inside of a database: if it sleeps there, it polls
  kWaits,            // a function of Python's library that waits, or is called by one for that
  kIdle,             // waits for events, connections or signals: not what the program does
  kPool,             // the loop of a pool's thread, or of a background service
  kRest,             // frames of an event loop around such a loop's wait for work
  kEngine,           // autograd's own thread, which runs collectives for the main thread
  kStore,            // the program, not a library, waits for a key of a store
  kConnects,         // has not reached the store in which the ranks meet
  kRemoteCall,       // waits for what another rank does for it
  kServesCall,       // runs a function for another rank
  kServesLoop,       // a loop that runs such functions: it runs one if Python code is inside
  kAwaitsCoroutine,  // a coroutine waits for another one of its event loop
  kGets,             // how such loops, and event loops, wait for the next item
  kCommunicates,     // is inside a communication library
  kMeetsLaunchers,   // a launcher waits for the launchers of other nodes
  kImports,          // acquires the lock of a module that is imported
  kCollectsGarbage,
  kEndsInterpreter,
  kRunsForkHooks,
};

// Texts are alternatives: "^begin|part|end$|^whole$"; an empty one matches anything. `file`: the
// whole path (Python), or the base name of the module (native); `function`: the short, demangled
// name. All fields that are given must match.
struct FramePattern {
  constexpr FramePattern(FrameRole is,
                         snapshot::FrameKind of,
                         std::string_view in_file,
                         std::string_view named,
                         snapshot::Library in_library = snapshot::Library::kOther)
      : role(is), kind(of), file(in_file), function(named), library(in_library) {}
  constexpr FramePattern(Story tells,
                         snapshot::FrameKind of,
                         std::string_view in_file,
                         std::string_view named,
                         std::string_view in_words = {},
                         snapshot::Library in_library = snapshot::Library::kOther,
                         snapshot::PollOn asks_for = snapshot::PollOn::kUnknown)
      : story(tells),
        kind(of),
        file(in_file),
        function(named),
        words(in_words),
        library(in_library),
        polls(asks_for) {}

  bool fits(snapshot::FrameKind of,
            std::string_view in_file,
            std::string_view named,
            snapshot::Library in_library) const;

  FrameRole role = FrameRole::kPlain;
  Story story = Story::kNone;
  snapshot::FrameKind kind;
  std::string_view file;
  std::string_view function;
  std::string_view words;  // "a debugger prompt"
  snapshot::Library library;
  snapshot::PollOn polls = snapshot::PollOn::kUnknown;
};

// Returns all rows. The first row with a role that fits decides the role; for each story, the first
// row of that story.
std::span<const FramePattern> frame_patterns();

}  // namespace oddrank::aggregate
