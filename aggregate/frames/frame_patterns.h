// What functions mean, by their names, as data: which frames are internals of an interpreter or a
// library and are not shown, and which frames tell a story (a loader, a debugger, a request to a
// service). To teach oddrank a new library, add a row to frame_patterns.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snapshot/frame.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::aggregate {

enum class FrameRole : std::uint8_t {
  kPlain =
      0,      // shown inside of the innermost Python frame, if there is no Python, or if the user's
  kKey,       // shown everywhere: a communication library's own functions
  kInternal,  // never shown
  kInCall,    // the same, but a thread that is there is at work, not idle
  kLibc,      // in a run of these, only the outermost is shown: the call that was made
  kThreadStart,  // the outer end of a stack
};

enum class FrameField : std::uint8_t { kFunction, kModule };
enum class FrameMatch : std::uint8_t { kExact, kPrefix, kContains };

// The first row that matches decides. Functions are compared by their short, demangled name;
// modules by the base name of the path (native) or by the whole path (Python), or by the library
// that the path is of.
struct FramePattern {
  snapshot::FrameKind kind;
  FrameField field;
  FrameMatch match;
  std::string_view text;
  FrameRole role;
  snapshot::Library library = snapshot::Library::kOther;  // if given, it alone decides
};

enum class Story : std::uint8_t {
  kLoader,           // waits for batches of its input pipeline
  kLoaderWorker,     // is a worker of an input pipeline
  kPoolWorker,       // is a worker process of a pool
  kQueueIdle,        // waits to be given work: no sign of trouble
  kQueueFeeder,      // sends what other threads put into a queue
  kFailed,           // handles an error, or runs an exit handler
  kEnds,             // has left the program's main function in order
  kExternal,         // talks to a service outside of the job
  kSleep,            // sleeps on purpose
  kYields,           // lets others run, and goes on
  kIdle,             // waits for events, connections or signals: not what the program does
  kPool,             // the loop of a pool's thread, or of a background service
  kRest,             // frames of an event loop around such a loop's wait for work
  kEngine,           // autograd's own thread, which runs collectives for the main thread
  kStore,            // waits for a key of a store, for itself and not for a library
  kConnects,         // has yet to reach the store in which the ranks meet
  kRemoteCall,       // waits for what another rank does for it
  kServesCall,       // runs a function for another rank
  kServesLoop,       // a loop that runs such functions: it has one if Python code is inside
  kAwaitsCoroutine,  // a coroutine waits for what another one of its event loop does
  kGets,             // how such loops, and event loops, wait for the next one
  kCommunicates,     // is inside a communication library
};

// Matches a frame whose file (Python) or module (native) contains `file` and whose function
// contains `function`; an empty text, and no library, matches anything.
struct StoryPattern {
  Story story;
  snapshot::FrameKind kind;
  std::string_view file;
  std::string_view function;
  std::string_view words;  // "a debugger prompt"
  snapshot::Library library = snapshot::Library::kOther;
};

std::span<const FramePattern> frame_patterns();
std::span<const StoryPattern> story_patterns();

}  // namespace oddrank::aggregate
