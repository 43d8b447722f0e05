#include "ranks/slurm/step_tasks.h"

#include <cstring>
#include <set>

#include "base/base_name.h"
#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::ranks {
namespace {

// A task of the answer: id (int), gtid (uint32), pid (int), exited (bool), estatus (int).
constexpr std::size_t kTaskNumberAt = 4;
constexpr std::size_t kExitedAt = 12;
constexpr std::size_t kStatusAt = 13;

std::int32_t number_at(std::string_view bytes, std::size_t at) {
  std::int32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Returns whether "n1_4711.0" is the socket of step 4711.0 on some node.
bool is_of_step(std::string_view name, std::string_view step) {
  return name.size() > step.size() + 1 && name.ends_with(step) &&
         name[name.size() - step.size() - 1] == '_';
}

}  // namespace

std::string step_socket(std::string_view table, std::string_view step) {
  // "Num: RefCount Protocol Flags Type St Inode Path" (net/unix/af_unix.c)
  constexpr std::uint32_t kListens = 0x10000;  // __SO_ACCEPTCON
  std::set<std::string_view> paths;
  for (const std::string_view line : split(table, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 8 && words[7].starts_with('/') && is_of_step(base_name(words[7]), step) &&
        (parse_number<std::uint32_t>(words[3], 16).value_or(0) & kListens) != 0) {
      paths.insert(words[7]);
    }
  }
  return paths.size() == 1 ? std::string(*paths.begin()) : std::string();
}

Result<std::vector<EndedTask>> parse_step_tasks(std::string_view bytes) {
  const auto bad = [] { return fail(Errc::kBadData, "slurmstepd's list of tasks is malformed"); };
  const std::size_t count = bytes.size() / kStepTaskSize;
  if (count == 0 || count > kMaxStepTasks || bytes.size() % kStepTaskSize != 0) {
    return bad();
  }
  std::set<std::int32_t> numbers;
  std::vector<EndedTask> ended;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view task = bytes.substr(i * kStepTaskSize, kStepTaskSize);
    const std::int32_t number = number_at(task, kTaskNumberAt);
    const auto exited = static_cast<unsigned char>(task[kExitedAt]);
    const std::int32_t status = number_at(task, kStatusAt);
    if (number_at(task, 0) != static_cast<std::int32_t>(i) || number < 0 || exited > 1 ||
        !numbers.insert(number).second) {
      return bad();
    }
    if (exited == 1 && (status < 0 || status > 0xffff)) {
      return bad();
    }
    if (exited == 1) {
      ended.push_back({number, status});
    }
  }
  return ended;
}

}  // namespace oddrank::ranks
