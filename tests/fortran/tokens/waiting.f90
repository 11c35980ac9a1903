! Declared and promised tokens, edges, held tasks, groups, and the ways to wait. Indices count from 1.
module noting
  use, intrinsic :: iso_c_binding
  use check
  use norn
  implicit none
  integer :: order(10) = 0, count = 0
  integer(c_int32_t), volatile :: told = 0
contains
  subroutine note(i)
    integer, intent(in) :: i
    count = count + 1
    order(count) = i
  end subroutine
  subroutine complete(arg, token, status) bind(c)
    type(c_ptr), value :: arg
    type(norn_token), value :: token
    integer(c_int32_t), value :: status
    integer(c_int32_t), pointer :: it
    call c_f_pointer(arg, it)
    it = status
  end subroutine
end module

program test
  use noting
  implicit none
  type(norn_runtime) :: rt
  type(norn_token) :: first, second, gate, done, member, tokens(3)
  type(norn_group) :: group, inner
  integer(c_int32_t), target :: ended
  integer(c_int32_t) :: fd
  integer :: stat, index, i
  character(200) :: why
  logical :: is_done

  call norn_open(rt, norn_config(workers=1))
  ! The consumer before its producer.
  call norn_declare(rt, first, "first")
  call norn_submit_subroutine(rt, note, 2, after=[first], token=second)
  call norn_submit_subroutine(rt, note, 1, as=first)
  call norn_await_all(rt, [second, first])
  call expect(all(order(:2) == [1, 2]), "backwards")

  call norn_promise(rt, gate, name="gate")
  call norn_submit_subroutine(rt, note, 4, flags=NORN_HELD, token=first)
  call norn_edge(rt, gate, first)
  call norn_start(rt, first)
  call norn_start(rt, first, stat, why)
  call expect_status(stat, NORN_E_STATE, "second start")
  call norn_test(rt, first, is_done)
  call expect(.not. is_done, "not done")
  call norn_await(rt, first, 1000_c_int64_t, stat)
  call expect_status(stat, NORN_E_TIMEOUT, "await with a limit")
  call norn_eventfd(rt, first, fd)
  call expect(fd >= 0, "a file descriptor")
  call norn_fulfill(rt, gate)
  call norn_await(rt, first)
  call norn_test(rt, first, is_done)
  call expect(is_done, "done")
  call norn_edge(rt, first, first, stat)
  call expect(stat < 0, "edge to itself")

  ! Of three, the second completes.
  do i = 1, 3
    call norn_promise(rt, tokens(i))
  end do
  call norn_fulfill(rt, tokens(2))
  index = -1
  call norn_await_any(rt, tokens, index)
  call expect_equal(index, 2, "which of three")
  call norn_fail(rt, tokens(3), 9, "broken")
  call norn_await_any(rt, tokens(3:3), index, stat=stat, errmsg=why)
  call expect_status(stat, NORN_E_TASK_FAILED, "any of a failed one")
  call expect_equal(index, 1, "which failed")
  call expect_says(why, "broken")
  call norn_cancel(rt, tokens(1))
  call norn_await(rt, tokens(1), stat=stat)
  call expect_status(stat, NORN_E_CANCELLED, "cancelled")
  ended = 99
  call norn_on_complete(rt, tokens(1), complete, c_loc(ended))
  do i = 1, 2000
    call norn_progress(rt)
    if (ended /= 99) exit
    call sleep_ms(10)
  end do
  call expect_status(int(ended), NORN_E_CANCELLED, "what on_complete was told")

  call norn_group_open(rt, group, done, name="group")
  call norn_group_open(rt, inner, parent=group)
  call norn_submit_subroutine(rt, note, 5, group=inner, token=member)
  call norn_group_close(rt, inner)
  call norn_group_close(rt, group)
  call norn_await(rt, done)
  call norn_test(rt, member, is_done)
  call expect(is_done, "members before the group")
  ! A token of zero is complete.
  call norn_await(rt, norn_token())
  call norn_close(rt, stat)
end program
