! Three tasks, an edge, an await: two factors in any order, then their product.
module factors
  use, intrinsic :: iso_c_binding
  use norn
  implicit none
contains
  integer(c_int32_t) function six(self, n) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: n
    integer, pointer :: number(:)
    call c_f_pointer(n, number, [3])
    number(1) = 6
    six = 0
  end function

  integer(c_int32_t) function seven(self, n) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: n
    integer, pointer :: number(:)
    call c_f_pointer(n, number, [3])
    number(2) = 7
    seven = 0
  end function

  ! A body that can fail: the text and the code go to whoever awaits the token.
  integer(c_int32_t) function times(self, n) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: n
    integer, pointer :: number(:)
    call c_f_pointer(n, number, [3])
    number(3) = number(1) * number(2)
    times = 0
    if (number(3) /= 42) times = norn_self_fail(self, 1, "the factors are not there yet")
  end function
end module

program quickstart
  use factors
  implicit none
  type(norn_runtime) :: rt
  type(norn_token) :: first, second, product
  integer, target :: n(3) = 0

  call norn_open(rt)
  call norn_submit(rt, six, c_loc(n), token=first)
  call norn_submit(rt, seven, c_loc(n), token=second)
  call norn_submit(rt, times, c_loc(n), after=[first, second], token=product) ! the edges: after both
  call norn_await(rt, product)
  print "(i0, a, i0, a, i0)", n(1), " x ", n(2), " = ", n(3)
  call norn_close(rt)
end program
