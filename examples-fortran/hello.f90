module work
  use norn
  implicit none
  real(8), target :: a(1000), b(1000)
contains
  subroutine fill()
    integer :: i
    a = [(i - 1, i = 1, size(a))]
  end subroutine
  subroutine double()
    b = 2 * a
  end subroutine
end module
program hello
  use work
  type(norn_runtime) :: rt; type(norn_data) :: da, db; type(norn_token) :: done
  call norn_open(rt)
  call norn_data_register(rt, a, da)
  call norn_data_register(rt, b, db)
  call norn_submit_subroutine(rt, fill, accesses=[norn_write(da)])
  call norn_submit_subroutine(rt, double, accesses=[norn_read(da), norn_write(db)], token=done)
  call norn_await(rt, done)
  print "(a, i0)", "sum ", nint(sum(b))
  call norn_close(rt)
end program
