// Makes an input of the fuzz target python_memory out of a real Python process that stands still:
// make_python_image PID FILE. Keeps only those bytes without which something else would be read.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "attach/live_target.h"
#include "base/deadline.h"
#include "tests/fuzz/memory_image.h"
#include "tests/fuzz/python_reading.h"

namespace {

using namespace oddrank;  // NOLINT(google-build-using-namespace)

// Notes the pages that are read.
class Recorder final : public attach::Target {
 public:
  explicit Recorder(const attach::Target& of) : of_(of) {}

  fuzz::MemoryImage& image() const { return image_; }
  pid_t pid() const override { return of_.pid(); }
  const std::string& name() const override { return of_.name(); }
  Status read(attach::Addr address, std::span<std::byte> into) const override {
    Status status = of_.read(address, into);
    if (status) {
      keep(address, into);
    }
    return status;
  }
  void read_many(std::span<attach::ReadRequest> requests) const override {
    of_.read_many(requests);
    for (const attach::ReadRequest& request : requests) {
      keep(request.address, request.into.first(request.got));
    }
  }
  const attach::MemoryMap& maps() const override { return none_; }
  Result<UniqueFd> open_file(const attach::Mapping& /*mapping*/) const override {
    return fail(Errc::kNotFound, "no files");
  }
  Result<std::vector<attach::ThreadState>> threads() const override { return of_.threads(); }
  Result<attach::ThreadState> thread(pid_t tid) const override { return of_.thread(tid); }

 private:
  void keep(attach::Addr address, std::span<const std::byte> bytes) const {
    image_.put(attach::value_of(address),
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  const attach::Target& of_;
  attach::MemoryMap none_;
  mutable fuzz::MemoryImage image_;
};

std::string read_image(const fuzz::MemoryImage& image,
                       const cpython::Runtime& runtime,
                       const std::vector<attach::ThreadState>& states) {
  test::FakeTarget target(states.front().tid);
  target.set_threads(states);
  image.into(target);
  elf::ModuleMap modules(target);
  return fuzz::read_python(target, modules, runtime, states);
}

struct Block {
  std::string* page = nullptr;
  std::size_t at = 0;
  std::string bytes;
};

// Zeroes ever smaller groups of blocks, as long as the same is read, for some minutes at most.
void shrink(fuzz::MemoryImage& image,
            const cpython::Runtime& runtime,
            const std::vector<attach::ThreadState>& states,
            const std::string& wanted) {
  constexpr std::size_t kBlock = 64;
  const Deadline deadline = Deadline::after(std::chrono::minutes(4));
  std::vector<Block> kept;
  for (auto& [address, page] : image.pages()) {
    for (std::size_t at = 0; at < page.size(); at += kBlock) {
      kept.push_back({&page, at, page.substr(at, kBlock)});
    }
  }
  for (std::size_t size = kept.size() / 2; size > 0;
       size = size == 1 ? 0 : std::max<std::size_t>(size / 4, 1)) {
    std::vector<Block> still;
    for (std::size_t first = 0; first < kept.size(); first += size) {
      const std::size_t end = std::min(first + size, kept.size());
      if (deadline.passed()) {
        return;
      }
      for (std::size_t i = first; i < end; ++i) {
        kept[i].page->replace(kept[i].at, kBlock, std::string(kBlock, '\0'));
      }
      if (read_image(image, runtime, states) != wanted) {
        for (std::size_t i = first; i < end; ++i) {
          kept[i].page->replace(kept[i].at, kBlock, kept[i].bytes);
          still.push_back(kept[i]);
        }
      }
    }
    kept = std::move(still);
  }
}

}  // namespace

int main(int count, char** words) {
  const auto live = attach::LiveTarget::open(count == 3 ? std::atoi(words[1]) : 0);
  if (!live) {
    std::fprintf(stderr, "%s\n", live.error().what.c_str());
    return 1;
  }
  elf::ModuleMap modules(**live);
  auto runtime = cpython::detect_runtime(**live, modules);
  const auto states = (*live)->threads();
  if (!runtime || !states) {
    std::fprintf(stderr, "it is no Python that can be read\n");
    return 1;
  }
  runtime->evaluation_ranges = nullptr;
  const Recorder recorder(**live);
  elf::ModuleMap none(recorder);
  std::vector<std::byte> head(2048);
  (void)recorder.read(runtime->address, head);
  fuzz::read_python(recorder, none, *runtime, *states);
  fuzz::MemoryImage& image = recorder.image();
  std::vector<attach::ThreadState> alike;
  for (const attach::ThreadState& state : *states) {
    attach::ThreadState& row = alike.emplace_back();
    row.tid = row.target_tid = state.target_tid;
    row.state = 'S';
    row.syscall = state.syscall;
  }
  const std::string wanted = read_image(image, *runtime, alike);
  const std::string whole = image.write();
  shrink(image, *runtime, alike, wanted);
  std::ofstream file(words[2], std::ios::binary);
  const std::string bytes = image.write();
  file << fuzz::write_python_head(*runtime, alike) << bytes;
  std::printf("%s%s: %zu of %zu bytes\n", wanted.c_str(), runtime->version.text.c_str(),
              bytes.size(), whole.size());
  return 0;
}
