#include "waits/time_limit.h"

#include <linux/futex.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "attach/target.h"

namespace oddrank::waits {
namespace {

using attach::Addr;

constexpr std::int64_t kNanosecond = 1;
constexpr std::int64_t kMicrosecond = 1000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// trio's event loop waits so long if nothing has a time limit, and asyncio's if the next one is
// further away.
constexpr std::uint64_t kMaxLoopWaitMs = std::uint64_t{24} * 3600 * 1000;

// A point of time of a clock, or a span.
struct Limit {
  Addr at{};                        // of a struct timespec or timeval
  std::int64_t unit = kNanosecond;  // of its second member
  std::optional<clockid_t> clock;   // nullopt: a span
};

std::uint64_t argument(const WaitContext& context, std::size_t index) {
  return context.thread.syscall->arguments[index];
}

Limit limit_of_futex(const WaitContext& context, Addr at) {
  const auto operation = static_cast<int>(argument(context, 1));
  Limit limit{at, kNanosecond, std::nullopt};
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
      break;
    case FUTEX_LOCK_PI:
      limit.clock = CLOCK_REALTIME;
      break;
    default:
      limit.clock = (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  }
  return limit;
}

Limit limit_of_sleep(const WaitContext& context, const SyscallInfo& info) {
  if (info.name != "clock_nanosleep") {
    return {Addr{argument(context, 0)}, kNanosecond, std::nullopt};
  }
  const bool absolute = (argument(context, 1) & TIMER_ABSTIME) != 0;
  return {Addr{argument(context, 2)}, kNanosecond,
          absolute ? std::optional(static_cast<clockid_t>(argument(context, 0))) : std::nullopt};
}

// Returns -1 if it cannot be read, or is not plausible.
std::int64_t nanoseconds_at(const attach::Target& target, const Limit& limit) {
  constexpr std::int64_t kMaxSeconds = 8'000'000'000;  // Python's longest is 292 years
  const auto time = attach::read_object<std::array<std::int64_t, 2>>(target, limit.at);
  if (!time || (*time)[0] < 0 || (*time)[0] > kMaxSeconds || (*time)[1] < 0 ||
      (*time)[1] >= kSecond / limit.unit) {
    return -1;
  }
  return (*time)[0] * kSecond + (*time)[1] * limit.unit;
}

std::int64_t milliseconds_left(const WaitContext& context, const Limit& limit) {
  const std::int64_t until = nanoseconds_at(context.target, limit);
  if (until < 0 || !limit.clock) {
    return until < 0 ? -1 : until / kMillisecond;
  }
  const std::uint64_t now = context.files.clock_us(*limit.clock);
  const std::int64_t left = until / kMicrosecond - static_cast<std::int64_t>(now);
  return now == 0 ? -1 : std::max<std::int64_t>(left, 0) / 1000;
}

}  // namespace

std::optional<std::uint64_t> limit_argument(const WaitContext& context, const SyscallInfo& info) {
  if (info.timeout_argument < 0) {
    return std::nullopt;
  }
  const std::uint64_t value = argument(context, static_cast<std::size_t>(info.timeout_argument));
  const bool limited = info.timeout_is_pointer ? value != 0 : static_cast<std::int32_t>(value) >= 0;
  return limited ? std::optional(value) : std::nullopt;
}

void read_time_limit(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  if (info.kind == SyscallKind::kSleep) {
    wait.limit_ms = milliseconds_left(context, limit_of_sleep(context, info));
    return;
  }
  // A futex call has a timeout there only if it waits, and a thread sleeps only in those.
  const auto limit = limit_argument(context, info);
  const bool is_none = limit && !info.timeout_is_pointer && *limit == kMaxLoopWaitMs;
  if (!limit || is_none) {
    return;
  }
  wait.limited = true;
  if (!info.timeout_is_pointer) {
    wait.limit_ms = static_cast<std::int32_t>(*limit);
  } else if (info.kind == SyscallKind::kFutex) {
    wait.limit_ms = milliseconds_left(context, limit_of_futex(context, Addr{*limit}));
  } else if (info.kind == SyscallKind::kPoll || info.kind == SyscallKind::kSelect) {
    const std::int64_t unit = info.name == "select" ? kMicrosecond : kNanosecond;
    wait.limit_ms = milliseconds_left(context, {Addr{*limit}, unit, std::nullopt});
  }
}

}  // namespace oddrank::waits
