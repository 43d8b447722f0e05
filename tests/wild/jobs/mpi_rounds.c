// Makes one call again and again, and says how often: mpi_rounds FOLDER CALL NUMBERS. While
// FOLDER/sleeps.RANK exists, the rank sleeps before its call.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int numbers = atoi(argv[3]);
  double* own = calloc(numbers, sizeof(double));
  double* other = calloc(numbers, sizeof(double));
  char path[4096];
  char sleeps[4096];
  snprintf(path, sizeof(path), "%s/step.%d", argv[1], rank);
  snprintf(sleeps, sizeof(sleeps), "%s/sleeps.%d", argv[1], rank);
  for (int step = 1;; ++step) {
    if (access(sleeps, F_OK) == 0) {
      sleep(1000000);
    }
    if (!strcmp(argv[2], "all_reduce")) {
      MPI_Allreduce(own, other, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(argv[2], "barrier")) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Sendrecv(own, numbers, MPI_DOUBLE, (rank + 1) % ranks, 1, other, numbers, MPI_DOUBLE,
                   (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    FILE* file = fopen(path, "w");
    fprintf(file, "%d %d", step, getpid());
    fclose(file);
    usleep(20000);
  }
}
