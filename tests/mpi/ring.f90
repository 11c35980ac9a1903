! A ring of edges and a sum over all ranks, from Fortran; the communicator as module mpi has it, its integer.
program ring
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t, c_loc
  use norn
  use mpi, only: MPI_COMM_WORLD, MPI_THREAD_FUNNELED, MPI_Comm_rank, MPI_Comm_size
  implicit none
  integer :: provided, rank, ranks, error, i
  type(norn_runtime) :: rt
  type(norn_world) :: world
  type(norn_world_info) :: info
  type(norn_token) :: sent, received, summed
  type(norn_data) :: order
  integer :: status
  character(200) :: text
  real(c_double), target :: give(100), take(100), total(1)

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call norn_open(rt)
  call norn_world_attach_f(rt, MPI_COMM_WORLD, world)
  call norn_world_get(world, info)
  if (info%rank /= rank .or. info%size /= ranks) error stop "rank or size"
  give = [(real(rank * 1000 + i, c_double), i = 1, 100)]
  take = 0
  call norn_recv(world, norn_slice_at(c_loc(take), NORN_F64, 100_c_int64_t), modulo(rank - 1, ranks), token=received)
  call norn_send(world, norn_slice_at(c_loc(give), NORN_F64, 100_c_int64_t), modulo(rank + 1, ranks), token=sent)
  ! A name to order by: the sum comes after what is declared to write it.
  call norn_data_register_name(rt, "order", order)
  call norn_barrier(world, accesses=[norn_write(order)])
  call norn_barrier(world, accesses=[norn_read(order, norn_memory(total))], stat=status, errmsg=text)
  if (status /= NORN_E_INVALID .or. index(text, "names no memory") == 0) error stop "an access with memory is not refused"
  total = 1
  call norn_allreduce(world, norn_slice_at(c_loc(total), NORN_F64, 1_c_int64_t), NORN_SUM, after=[received], &
    accesses=[norn_read(order)], token=summed)
  call norn_await(rt, summed)
  call norn_await(rt, sent)
  if (any(take /= [(real(modulo(rank - 1, ranks) * 1000 + i, c_double), i = 1, 100)])) error stop "the wrong cells"
  if (nint(total(1)) /= ranks) error stop "the wrong sum"
  call norn_world_detach(world)
  call norn_close(rt)
  call MPI_Finalize(error)
  if (rank == 0) print "(a)", "ring: ok"
end program
