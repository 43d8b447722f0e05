/* What ranks of a C program wait for in MPI: mpi_calls OPERATION. Each rank says which process it
   is; then, in a hung job, rank 1 stands in open() of a fifo, computes or sleeps for good, comes to
   a call that is not the others' turn, or leaves out a send (REASON). */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kCount = 1000, kHealthySteps = 20 };

static int rank, size, without_send, hangs;
static double out[kCount], in[kCount];
static MPI_Comm half;
static MPI_Win window;
static MPI_Comm pairs; /* each rank of the world has one neighbour in it */

static int hangs_by(const char* reason) {
  return strcmp(getenv("REASON"), reason) == 0;
}

static void stand(void) {
  char path[4096];
  volatile long turns = 0;
  if (hangs_by("order")) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (hangs_by("compute")) {
    for (;;) {
      ++turns;
    }
  }
  while (hangs_by("sleep")) {
    sleep(1000);
  }
  snprintf(path, sizeof path, "%s/fifo", getenv("FOLDER"));
  mkfifo(path, 0600);
  (void)!open(path, O_RDONLY);
}

static void say(void) {
  char path[4096], final[4096];
  snprintf(path, sizeof path, "%s/rank.%d.new", getenv("FOLDER"), rank);
  snprintf(final, sizeof final, "%s/rank.%d", getenv("FOLDER"), rank);
  FILE* file = fopen(path, "w");
  fprintf(file, "%d", (int)getpid());
  fclose(file);
  rename(path, final);
}

/* Rank 0 asks for what each other one sends, and naps in between. */
static void poll_for_all(void) {
  MPI_Status status;
  for (int left = size - 1; rank == 0 && left > 0; --left) {
    int there = 0;
    while (!there) {
      usleep(500);
      MPI_Iprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &there, &status);
    }
    MPI_Recv(in, 1, MPI_DOUBLE, status.MPI_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank != 0) {
    MPI_Send(out, 1, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank writes into rank 0's part of the window, one after the other. Rank 1 hangs while it has
   the lock. */
static void lock_step(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Put(out, 1, MPI_DOUBLE, 0, rank, 1, MPI_DOUBLE, window);
  MPI_Win_flush(0, window);
  if (hangs && rank == 1) {
    stand();
  }
  MPI_Win_unlock(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks 1 and 3 lock both parts of the window that the others have, in one order; in a hung job
   each has the one that the other wants. */
static void locks_step(void) {
  const int first = hangs && rank == 1 ? 2 : 0, second = 2 - first;
  if (rank % 2 == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, window);
    MPI_Put(out, 1, MPI_DOUBLE, first, rank, 1, MPI_DOUBLE, window);
    MPI_Win_flush(first, window);
    if (hangs) {
      MPI_Sendrecv(out, 1, MPI_DOUBLE, 4 - rank, 4, in, 1, MPI_DOUBLE, 4 - rank, 4, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, second, 0, window);
    MPI_Win_unlock(second, window);
    MPI_Win_unlock(first, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 opens its part of the window to all others, and waits until each has written. */
static void post_step(void) {
  MPI_Group all, others;
  const int first = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  if (rank == 0) {
    MPI_Group_excl(all, 1, &first, &others);
    MPI_Win_post(others, 0, window);
    MPI_Win_wait(window);
  } else {
    MPI_Group_incl(all, 1, &first, &others);
    MPI_Win_start(others, 0, window);
    MPI_Put(out, 1, MPI_DOUBLE, 0, rank, 1, MPI_DOUBLE, window);
    if (hangs && rank == 1) {
      stand();
    }
    MPI_Win_complete(window);
  }
  MPI_Group_free(&others);
  MPI_Group_free(&all);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 hangs inside of these, not before it enters them. */
static int hangs_inside(const char* operation) {
  return strcmp(operation, "lock") == 0 || strcmp(operation, "locks") == 0 ||
         strcmp(operation, "post") == 0;
}

/* Calls for which rank 0 needs only rank 1. In a hung job, the others have something else to do. */
static void some_step(const char* operation) {
  MPI_Request request;
  while (hangs && rank > 1) {
    sleep(1000);
  }
  if (strcmp(operation, "neighbors") == 0) {
    MPI_Neighbor_allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, pairs);
  } else if (strcmp(operation, "alltoallv") == 0) {
    int counts[64] = {0}, places[64] = {0};
    counts[rank ^ 1] = 1;
    MPI_Alltoallv(in, counts, places, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
  } else {
    const int members[] = {0, 1};
    MPI_Group all, two;
    MPI_Comm made;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, members, &two);
    if (rank < 2) {
      MPI_Comm_create_group(MPI_COMM_WORLD, two, 9, &made);
      MPI_Comm_free(&made);
    }
    MPI_Group_free(&two);
    MPI_Group_free(&all);
  }
  MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void one_step(const char* operation) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int last = size - 1;
  MPI_Request request;
  MPI_Comm copy;
  if (strcmp(operation, "allreduce") == 0) {
    MPI_Allreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, world);
  } else if (strcmp(operation, "barrier") == 0) {
    MPI_Barrier(world);
  } else if (strcmp(operation, "half") == 0) {
    MPI_Allreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, half);
    MPI_Barrier(world);
  } else if (strcmp(operation, "wait") == 0) {
    MPI_Iallreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(operation, "waitall") == 0) { /* with both neighbours */
    MPI_Request all[4];
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    MPI_Irecv(in, 1, MPI_DOUBLE, before, 7, world, &all[0]);
    MPI_Irecv(in + 1, 1, MPI_DOUBLE, after, 7, world, &all[1]);
    MPI_Isend(out, 1, MPI_DOUBLE, before, 7, world, &all[2]);
    MPI_Isend(out, 1, MPI_DOUBLE, after, 7, world, &all[3]);
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  } else if (strcmp(operation, "fence") == 0) {
    MPI_Win_fence(0, window);
  } else if (strcmp(operation, "lock") == 0) {
    lock_step();
  } else if (strcmp(operation, "locks") == 0) {
    locks_step();
  } else if (strcmp(operation, "post") == 0) {
    post_step();
  } else if (strcmp(operation, "dup") == 0) {
    MPI_Comm_dup(world, &copy);
    MPI_Comm_free(&copy);
  } else if (strcmp(operation, "poll") == 0) {
    poll_for_all();
  } else if (strcmp(operation, "neighbors") == 0 || strcmp(operation, "alltoallv") == 0 ||
             strcmp(operation, "create_group") == 0) {
    some_step(operation);
  } else if (strcmp(operation, "recv") == 0 && (rank == 1 || rank == last)) {
    if (rank == 1) {
      if (!without_send) {
        MPI_Send(out, kCount, MPI_DOUBLE, last, 5, world);
      }
      MPI_Recv(in, 1, MPI_DOUBLE, last, 6, world, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, kCount, MPI_DOUBLE, 1, 5, world, MPI_STATUS_IGNORE);
      MPI_Send(out, 1, MPI_DOUBLE, 1, 6, world);
    }
  } else if (strcmp(operation, "recv") == 0) {
    usleep(1000);
  }
}

int main(int argc, char** argv) {
  const int hang = strcmp(getenv("HANG"), "1") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_set_name(half, "halves");
  if (strcmp(argv[1], "fence") == 0 ||
      hangs_inside(argv[1])) { /* not every MPI can do this between nodes */
    MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  }
  const int neighbor = rank ^ 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &neighbor, MPI_UNWEIGHTED, 1, &neighbor,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &pairs);
  for (long step = 0;; ++step) {
    if (step == kHealthySteps) {
      say();
    }
    hangs = hang && step > kHealthySteps;
    if (hangs && rank == 1) {
      without_send = hangs_by("no_send");
      if (!without_send && !hangs_inside(argv[1])) {
        stand();
      }
    }
    one_step(argv[1]);
  }
}
