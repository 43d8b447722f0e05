// For LD_PRELOAD: a process whose wall clock is off by ODDRANK_CLOCK_OFFSET seconds. A time
// namespace moves the clocks that count from the boot only.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

time_t offset() {
  static const time_t seconds = [] {
    const char* text = std::getenv("ODDRANK_CLOCK_OFFSET");
    return text == nullptr ? time_t{0} : static_cast<time_t>(std::atol(text));
  }();
  return seconds;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += offset();
  }
  return static_cast<int>(result);
}

extern "C" time_t time(time_t* into) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) {
    *into = now.tv_sec;
  }
  return now.tv_sec;
}

extern "C" int gettimeofday(timeval* into, void* /*zone*/) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *into = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}
