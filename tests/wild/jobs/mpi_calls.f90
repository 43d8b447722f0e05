! What ranks of a Fortran program wait for in MPI: an MPI_Allreduce. As mpi_calls.c; of its REASONs, "fifo"
! and "compute".
program mpi_calls
  use mpi
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function getpid() bind(c)
      import
    end function
    integer(c_int) function mkfifo(path, mode) bind(c)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: mode
    end function
  end interface
  integer, parameter :: healthy_steps = 20
  character(len=4096) :: folder, hang, reason, path
  integer :: rank, error, step, line
  double precision :: given(1000), total(1000)
  integer(c_int) :: made
  integer, volatile :: turns

  call get_environment_variable("FOLDER", folder)
  call get_environment_variable("HANG", hang)
  call get_environment_variable("REASON", reason)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  given = 1
  turns = 0
  step = 0
  do
    if (step == healthy_steps) then
      write (path, "(a,a,i0)") trim(folder), "/rank.", rank
      open (newunit=line, file=trim(path) // ".new")
      write (line, "(i0)") getpid()
      close (line)
      call rename(trim(path) // ".new", trim(path))
    end if
    if (step > healthy_steps .and. rank == 1 .and. trim(hang) == "1") then
      do while (trim(reason) == "compute")
        turns = mod(turns + 1, 1000)
      end do
      path = trim(folder) // "/fifo"
      made = mkfifo(trim(path) // c_null_char, int(o'600', c_int))
      open (newunit=line, file=trim(path), action="read")
      read (line, *) step
    end if
    call MPI_Allreduce(given, total, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    step = step + 1
  end do
end program
