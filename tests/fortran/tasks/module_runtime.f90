! A runtime kept in a module, with work behind it, and a program that ends without closing it: exit code 0, no hang.
module kept
  use norn
  implicit none
  type(norn_runtime), save :: rt
  real(8), target :: a(100)
contains
  subroutine fill()
    a = 1
  end subroutine
end module

program test
  use kept
  use check
  implicit none
  type(norn_data) :: data
  type(norn_token) :: token
  call norn_open(rt)
  call norn_data_register(rt, a, data)
  call norn_submit_subroutine(rt, fill, accesses=[norn_write(data)], token=token)
  call norn_await(rt, token)
  call norn_promise(rt, token)
  call norn_submit_subroutine(rt, fill, after=[token])
  call expect_equal(nint(sum(a)), 100, "sum")
end program
