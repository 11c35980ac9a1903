! What a body may ask: who it is, ending an access early, holds, children, waiting inside.
module asking
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  type(norn_runtime) :: rt
  type(norn_data) :: da, db
  type(norn_token) :: held
  integer :: inner_runs = 0
contains
  integer(c_int32_t) function ask(self, arg) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    type(norn_self_info) :: info
    type(norn_token) :: child
    integer :: stat
    character(200) :: why
    call norn_self_get(self, info)
    call expect(c_associated(info%runtime%handle, rt%handle), "its runtime")
    call expect(info%token%id /= 0, "its token")
    call norn_submit_subroutine(info%runtime, inner, accesses=[norn_update(da)], flags=NORN_CHILD, token=child)
    call norn_await(info%runtime, child)
    ! Before the release, after which the program goes on.
    call norn_self_hold(self, 2_c_int32_t)
    held = info%token
    call norn_self_release(self, da)
    call norn_self_release(self, da, stat, why)
    call expect_status(stat, NORN_E_STATE, "second release")
    call norn_self_release(self, db, stat)
    call expect_status(stat, NORN_E_INVALID, "release of what it has not")
    ask = 0
  end function
  subroutine inner()
    inner_runs = inner_runs + 1
  end subroutine
end module

program test
  use asking
  implicit none
  type(norn_token) :: token, hold
  integer, target :: a = 0, b = 0
  integer :: stat
  logical :: done
  type(c_ptr) :: handle

  call norn_open(rt)
  call norn_data_register(rt, a, da)
  call norn_data_register(rt, b, db)
  call norn_submit(rt, ask, accesses=[norn_update(da)], token=token)
  ! Released inside: this runs although the other one is held.
  call norn_submit_subroutine(rt, inner, accesses=[norn_update(da)])
  call norn_data_acquire(rt, [norn_read(da)], hold)
  call norn_data_release(rt, hold)
  call expect_equal(inner_runs, 2, "runs")
  call norn_test(rt, token, done)
  call expect(.not. done, "a held task is not complete")
  call norn_unhold(rt, held, 1_c_int32_t)
  call norn_await(rt, token, 0_c_int64_t, stat)
  call expect_status(stat, NORN_E_TIMEOUT, "one hold is left")
  call norn_unhold(rt, held, 1_c_int32_t)
  call norn_await(rt, token)
  call norn_self_provider(norn_self(), 0_c_int32_t, handle, stat)
  call expect(stat < 0, "no provider outside a body")
  call norn_close(rt)
end program
