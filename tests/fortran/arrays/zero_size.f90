! An array without elements is a datum to order by: a rank without cells needs no special case.
program test
  use check
  use norn
  use, intrinsic :: iso_c_binding
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: data, other
  real(8), allocatable, target :: none(:), flat(:, :), some(:)
  real(8), target :: a(5)
  type(norn_token) :: hold
  integer :: n

  call norn_open(rt)
  allocate (none(0), flat(4, 0))
  call norn_data_register(rt, none, data, name="none")
  call norn_data_register(rt, flat, other)
  call norn_data_acquire(rt, [norn_update(data, norn_memory(none)), norn_read(other, norn_memory(flat))], hold)
  call norn_data_release(rt, hold)
  call norn_data_unregister(rt, other)
  n = 2
  call norn_data_register(rt, a(n:1:2), other) ! an empty section, with a stride
  call norn_data_unregister(rt, other, norn_memory(a(n:1:2)))

  ! It may grow.
  allocate (some(7))
  call norn_data_rebind(rt, data, some)
  call norn_data_check(rt, data, norn_memory(some))
  call norn_data_rebind(rt, data, none)
  call norn_data_check(rt, data, norn_memory(none))
  call norn_close(rt)
end program
