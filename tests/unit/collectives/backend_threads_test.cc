#include "collectives/backend_threads.h"

#include <string>

#include "snapshot/libraries/known_libraries.h"
#include "tests/support/capture_builder.h"
#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

using snapshot::Library;

// Returns whether a thread beside the main one, in a frame without a name, is a backend's.
bool is_backend_thread(std::string_view library) {
  tests::CaptureBuilder builder({"n0"}, 1);
  auto& process = builder.rank(0, "n0", 10);
  builder.thread(process, {});
  tests::ThreadSpec spec;
  spec.has_python = false;
  spec.frames = {tests::native("poll", "/lib/libc.so.6"),
                 tests::native("", "/x/lib/" + std::string(library) + ".so.2")};
  builder.thread(process, spec);
  return has_backend_thread(process, builder.capture.tables);
}

TEST_CASE("a backend's thread is known by each name of its library") {
  for (const snapshot::KnownLibrary& known : snapshot::known_libraries()) {
    const bool of_backend = known.library == Library::kNccl || known.library == Library::kGloo ||
                            known.library == Library::kTorch;
    INFO(known.name);
    CHECK(is_backend_thread(known.name) == of_backend);
  }
}

}  // namespace
}  // namespace oddrank::collectives
