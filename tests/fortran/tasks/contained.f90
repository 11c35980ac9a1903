! A contained procedure that uses variables of its host is refused as a body and as a callback. One that needs nothing of
! its host is ordinary code to GCC, unless it compiles without optimization; Flang makes no difference.
module outer
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
contains
  subroutine host(rt, n)
    type(norn_runtime), intent(in) :: rt
    integer, intent(in) :: n
    integer :: sum, stat
    real(8) :: frame(10000)
    character(200) :: why
    type(norn_token) :: token
    sum = n
    frame = n
    call norn_submit_subroutine(rt, add, stat=stat, errmsg=why)
    call refused("a subroutine")
    call norn_submit_subroutine(rt, add_index, 1, stat=stat, errmsg=why)
    call refused("a subroutine with an index")
    call norn_submit(rt, body, stat=stat, errmsg=why)
    call refused("a function")
    call norn_promise(rt, token)
    call norn_on_complete(rt, token, callback, stat=stat, errmsg=why)
    call refused("a callback")
    call norn_fulfill(rt, token)
    call expect_equal(sum + nint(frame(n)), 2 * n, "nothing ran")
    call norn_submit_subroutine(rt, alone, stat=stat)
    call expect(stat == NORN_OK .or. stat == NORN_E_INVALID, "one that needs nothing of its host runs, or is refused")
    call norn_drain(rt)
  contains
    subroutine refused(what)
      character(*), intent(in) :: what
      call expect_status(stat, NORN_E_INVALID, what)
      call expect_says(why, "module procedure")
    end subroutine
    subroutine add()
      sum = sum + 1
    end subroutine
    subroutine add_index(index)
      integer, intent(in) :: index
      sum = sum + index + nint(frame(index))
    end subroutine
    integer(c_int32_t) function body(self, arg) bind(c)
      type(norn_self), value :: self
      type(c_ptr), value :: arg
      sum = sum + 1
      body = 0
    end function
    subroutine callback(arg, token, status) bind(c)
      type(c_ptr), value :: arg
      type(norn_token), value :: token
      integer(c_int32_t), value :: status
      sum = sum + status
    end subroutine
    subroutine alone()
    end subroutine
  end subroutine
  subroutine host_as_task(index)
    integer, intent(in) :: index
    type(norn_runtime) :: rt
    call norn_open(rt)
    call host(rt, index)
    call norn_close(rt)
  end subroutine
end module

program test
  use outer
  implicit none
  type(norn_runtime) :: rt
  call norn_open(rt)
  call host(rt, 5)
  call norn_submit_subroutine(rt, host_as_task, 7) ! on the stack of a worker
  call norn_close(rt)
end program
