#include "slurm/shipment.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "base/programs/run_command.h"
#include "tests/support/catch.h"

namespace oddrank::slurm {
namespace {

TEST_CASE("the folders of a node that a copy is sent to, and the ways to run it") {
  ::setenv("SLURM_TMPDIR", "/local/job_7/", 1);
  ::setenv("TMPDIR", "/tmp", 1);
  const std::string last = "/run/user/" + std::to_string(::geteuid());
  CHECK(copy_folders() == std::vector<std::string>{"/tmp", "/dev/shm", "/local/job_7", last});
  ::setenv("SLURM_TMPDIR", "not/absolute", 1);
  ::setenv("TMPDIR", "/", 1);
  CHECK(copy_folders() == std::vector<std::string>{"/tmp", "/dev/shm", last});
  ::unsetenv("SLURM_TMPDIR");
  ::unsetenv("TMPDIR");
  const auto ways = copy_ways({"/a", "/b"});
  REQUIRE(ways.size() == 4);
  CHECK((ways[1].folder == "/b" && !ways[1].from_memory));
  CHECK((ways[2].folder == "/a" && ways[2].from_memory));
}

// Runs the step's words here, as a node would; returns what they print.
std::string run_here(const AgentStep& step) {
  ProgramCall call;
  call.argv = {step.agent_path};
  call.argv.insert(call.argv.end(), step.agent_args.begin(), step.agent_args.end());
  const auto output = run_command(call, Deadline::after(std::chrono::minutes(1)));
  REQUIRE(output);
  return output->out + output->err;
}

TEST_CASE("python3 runs a copy from memory, which deletes it") {
  std::string folder = std::filesystem::temp_directory_path() / "shipment-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/copy";
  std::filesystem::copy_file("/bin/readlink", path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);  // not even executable
  AgentStep step;
  step.agent_args = {"/proc/self/exe"};
  run_copy(step, {path}, true);
  CHECK(run_here(step) == "/memfd:oddrank (deleted)\n");
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(run_here(step) ==
        "cannot run oddrank from memory: [Errno 2] No such file or directory: '" + path + "'\n");
  std::filesystem::remove(folder);
}

TEST_CASE("what is said of the nodes that a copy was sent to") {
  reach::NodeAnswer plain;
  plain.host = "n0";
  reach::NodeAnswer one;
  one.host = "n1";
  one.copied_to = "/tmp";
  reach::NodeAnswer two = one;
  two.host = "n2";
  reach::NodeAnswer three = one;
  three.host = "n3";
  three.from_memory = true;
  CHECK(copy_notes({plain}, "/x/oddrank").empty());
  CHECK(copy_notes({plain, one, two, three}, "/x/oddrank") ==
        std::vector<std::string>{
            "/x/oddrank is not on n[1-2]: a copy was sent there, into /tmp",
            "/x/oddrank is not on n3: a copy was sent there, into /tmp, and run from memory, "
            "because no folder lets programs run"});
}

}  // namespace
}  // namespace oddrank::slurm
