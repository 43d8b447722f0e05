/* Known stacks that end in a C library without unwind tables: `bare_libc MODE [thread]`. It prints
 * "ready" and blocks; live tests compile it in several ways (tests/live/bare_libc_test.py). The
 * calls are main (or main and in_join, and in_thread in the other thread), go, in_MODE, and
 * functions of the library. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Keeps calls from becoming jumps. */
static volatile int after;

static void ready(void) {
  after = (int)write(1, "ready\n", 6);
}

static void block(void) {
  char byte;
  ready();
  after = (int)read(0, &byte, 1);
}

static void in_sleep(void) {
  const struct timespec long_time = {1000, 0};
  ready();
  after = nanosleep(&long_time, NULL);
}

static void in_read(void) {
  block();
  after = 1;
}

static void in_fgets(void) {
  char text[512];
  ready();
  after = fgets(text, sizeof text, stdin) != NULL;
}

static void in_cond(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  ready();
  after = pthread_cond_wait(&cond, &mutex);
}

static void on_signal(int number) {
  block();
  after = number;
}

static void in_raise(void) {
  signal(SIGUSR1, on_signal);
  after = raise(SIGUSR1);
}

static void in_fault(void) {
  signal(SIGSEGV, on_signal);
  after = *(volatile int*)8;
}

static const struct {
  const char* name;
  void (*run)(void);
} modes[] = {{"sleep", in_sleep}, {"read", in_read},   {"fgets", in_fgets},
             {"cond", in_cond},   {"raise", in_raise}, {"fault", in_fault}};

/* Calls through a pointer, which says nothing of where it leads. */
static void go(const char* mode) {
  for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
    if (strcmp(modes[i].name, mode) == 0) {
      modes[i].run();
    }
  }
  after = 2;
}

static void* in_thread(void* mode) {
  go(mode);
  after = 3;
  return NULL;
}

static void in_join(char* mode) {
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, mode);
  after = pthread_join(thread, NULL);
}

int main(int count, char** arguments) {
  if (count > 2) {
    in_join(arguments[1]);
  } else {
    go(arguments[1]);
  }
  return after;
}
