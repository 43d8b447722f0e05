// Threads that wait for locks which others own, one kind a mode (the table in main). Prints
// "ready OWNER OTHER": the tid that the main thread's wait must name, and that of a second thread.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>

namespace {

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t read_write = PTHREAD_RWLOCK_INITIALIZER;
std::array<int, 2> told{-1, -1};  // a thread stores its tid when it has its lock

[[noreturn]] void wait_for_ever() {
  while (true) {
    ::pause();
  }
}

void tell() {
  const long tid = ::syscall(SYS_gettid);
  (void)!::write(told[1], &tid, sizeof tid);
}

long hear() {
  long tid = 0;
  (void)!::read(told[0], &tid, sizeof tid);
  return tid;
}

void ready(long owner, long other = 0) {
  std::printf("ready %ld %ld\n", owner, other);
  (void)std::fflush(stdout);
}

using Work = void (*)();

void* run(void* work) {
  reinterpret_cast<Work>(work)();
  return nullptr;
}

pthread_t start(Work work) {
  pthread_t thread{};
  (void)::pthread_create(&thread, nullptr, run, reinterpret_cast<void*>(work));
  return thread;
}

// Takes `first`, then wants `second`: the other half of a circle.
void take_both() {
  (void)::pthread_mutex_lock(&first);
  tell();
  (void)::pthread_mutex_lock(&second);
}

void hold_first() {
  (void)::pthread_mutex_lock(&first);
  tell();
  wait_for_ever();
}

void make_mutex(int robust, int protocol, int shared, int type, pthread_mutex_t& mutex) {
  pthread_mutexattr_t kind;
  (void)::pthread_mutexattr_init(&kind);
  (void)::pthread_mutexattr_setrobust(&kind, robust);
  (void)::pthread_mutexattr_setprotocol(&kind, protocol);
  (void)::pthread_mutexattr_setpshared(&kind, shared);
  (void)::pthread_mutexattr_settype(&kind, type);
  (void)::pthread_mutex_init(&mutex, &kind);
}

void wait_for_first() {
  start(hold_first);
  ready(hear());
  (void)::pthread_mutex_lock(&first);
}

void two_in_a_circle() {
  (void)::pthread_mutex_lock(&second);
  start(take_both);
  ready(hear());
  (void)::pthread_mutex_lock(&first);
}

// Joins a thread that waits for main's lock.
void join_in_a_circle() {
  (void)::pthread_mutex_lock(&second);
  const pthread_t thread = start(take_both);
  ready(hear());
  (void)::pthread_join(thread, nullptr);
}

std::atomic<bool> both_have_one{false};

// Runs until both have their locks, so that the only futex call is the wait to be read.
void take_crosswise(pthread_mutex_t& mine, pthread_mutex_t& other) {
  (void)::pthread_mutex_lock(&mine);
  tell();
  while (!both_have_one) {
  }
  (void)::pthread_mutex_lock(&other);
}

// Waits for a thread that is in a circle with another one.
void circle_of_others() {
  start([] { take_crosswise(first, second); });
  const long owner = hear();
  start([] { take_crosswise(second, first); });
  const long other = hear();
  both_have_one = true;
  ready(owner, other);
  (void)::pthread_mutex_lock(&first);
}

void lock_twice() {
  ready(::syscall(SYS_gettid));
  (void)::pthread_mutex_lock(&first);
  (void)::pthread_mutex_lock(&first);
}

void robust() {
  make_mutex(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE,
             PTHREAD_MUTEX_DEFAULT, first);
  wait_for_first();
}

void inheriting() {
  make_mutex(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE,
             PTHREAD_MUTEX_DEFAULT, first);
  wait_for_first();
}

void recursive() {
  make_mutex(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE,
             PTHREAD_MUTEX_RECURSIVE, first);
  wait_for_first();
}

void timed() {
  start(hold_first);
  timespec end{};
  (void)::clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 3600;
  ready(hear());
  (void)::pthread_mutex_timedlock(&first, &end);
}

void hold_for_writing() {
  (void)::pthread_rwlock_wrlock(&read_write);
  tell();
  wait_for_ever();
}

void wait_to_read() {
  start(hold_for_writing);
  ready(hear());
  (void)::pthread_rwlock_rdlock(&read_write);
}

void wait_to_write() {
  start(hold_for_writing);
  ready(hear());
  (void)::pthread_rwlock_wrlock(&read_write);
}

void hold_for_reading() {
  (void)::pthread_rwlock_rdlock(&read_write);
  tell();
  wait_for_ever();
}

void wait_for_readers() {
  start(hold_for_reading);
  (void)hear();
  start(hold_for_reading);
  ready(hear());
  (void)::pthread_rwlock_wrlock(&read_write);
}

void hold_stream() {
  ::flockfile(stderr);
  tell();
  wait_for_ever();
}

void wait_for_stream() {
  start(hold_stream);
  ready(hear());
  ::flockfile(stderr);
}

void wait_for_thread() {
  const pthread_t thread = start([] {
    tell();
    wait_for_ever();
  });
  ready(hear());
  (void)::pthread_join(thread, nullptr);
}

// Joins the last of 99 threads that all want main's lock.
void hundred_threads() {
  (void)::pthread_mutex_lock(&second);
  pthread_t thread{};
  for (int i = 0; i < 99; ++i) {
    thread = start([] {
      tell();
      (void)::pthread_mutex_lock(&second);
    });
    (void)hear();
  }
  ready(0);
  (void)::pthread_join(thread, nullptr);
}

void wait_for_condition() {
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  (void)::pthread_mutex_lock(&first);
  ready(0);
  (void)::pthread_cond_wait(&condition, &first);
}

// Waits for a mutex in memory that two processes share; the other one has it.
void shared_by_processes() {
  auto* mutex = static_cast<pthread_mutex_t*>(::mmap(
      nullptr, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  make_mutex(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED,
             PTHREAD_MUTEX_DEFAULT, *mutex);
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)::pthread_mutex_lock(mutex);
    tell();
    wait_for_ever();
  }
  ready(hear());
  (void)::pthread_mutex_lock(mutex);
}

// As before, but the other process exits while it has the mutex.
void abandoned_by_process() {
  auto* mutex = static_cast<pthread_mutex_t*>(::mmap(
      nullptr, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  make_mutex(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED,
             PTHREAD_MUTEX_DEFAULT, *mutex);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::pthread_mutex_lock(mutex);
    ::_exit(0);
  }
  (void)::waitpid(child, nullptr, 0);
  ready(child);
  (void)::pthread_mutex_lock(mutex);
}

}  // namespace

int main(int count, char** arguments) {
  static const std::map<std::string, Work> kModes = {
      {"circle", two_in_a_circle},
      {"join-circle", join_in_a_circle},
      {"twice", lock_twice},
      {"behind", circle_of_others},
      {"robust", robust},
      {"inheriting", inheriting},
      {"recursive", recursive},
      {"timed", timed},
      {"read", wait_to_read},
      {"write", wait_to_write},
      {"readers", wait_for_readers},
      {"stream", wait_for_stream},
      {"join", wait_for_thread},
      {"condition", wait_for_condition},
      {"hundred", hundred_threads},
      {"shared", shared_by_processes},
      {"abandoned", abandoned_by_process},
  };
  const auto mode = kModes.find(count > 1 ? arguments[1] : "");
  if (mode == kModes.end() || ::pipe(told.data()) != 0) {
    return 2;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  mode->second();
  return 0;
}
