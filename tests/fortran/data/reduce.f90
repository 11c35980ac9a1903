! A sum in private copies, with the procedures of the reduction in Fortran; the same bits in every mode.
module adding
  use, intrinsic :: iso_c_binding
  use norn
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: dsum
contains
  subroutine zero(copy, bytes, arg) bind(c)
    type(c_ptr), value :: copy
    integer(c_int64_t), value :: bytes
    type(c_ptr), value :: arg
    real(8), pointer :: x(:)
    call c_f_pointer(copy, x, [bytes / 8])
    x = 0
  end subroutine
  subroutine add(into, from, bytes, arg) bind(c)
    type(c_ptr), value :: into, from
    integer(c_int64_t), value :: bytes
    type(c_ptr), value :: arg
    real(8), pointer :: x(:), y(:)
    call c_f_pointer(into, x, [bytes / 8])
    call c_f_pointer(from, y, [bytes / 8])
    x = x + y
  end subroutine
  subroutine term(i)
    integer, intent(in) :: i
    type(c_ptr) :: address
    real(8), pointer :: mine
    call norn_data_pointer(rt, dsum, address)
    call c_f_pointer(address, mine)
    mine = mine + i
  end subroutine
end module

program test
  use adding
  use check
  implicit none
  real(8), target :: total = 0.5d0
  type(norn_token) :: hold
  type(norn_reduction) :: reduction
  integer :: i
  call norn_open(rt)
  reduction%identity = c_funloc(zero)
  reduction%combine = c_funloc(add)
  call norn_data_register(rt, total, dsum, name="sum", reduce=reduction)
  do i = 1, 100
    call norn_submit_subroutine(rt, term, i, accesses=[norn_reduce_into(dsum)])
  end do
  call norn_data_acquire(rt, [norn_read(dsum)], hold)
  call expect_equal(nint(2 * total), 10101, "twice the sum")
  call norn_data_release(rt, hold)
  call norn_close(rt)
end program
