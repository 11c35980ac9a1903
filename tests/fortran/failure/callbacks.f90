! The callbacks of a configuration as Fortran procedures, and the dump and the counters of a runtime.
module listening
  use, intrinsic :: iso_c_binding
  use norn
  implicit none
  integer, volatile :: failures = 0, events = 0
  integer, volatile :: threads = 0, started = 0
  character(64) :: failed_task = ""
contains
  subroutine on_failure(arg, info) bind(c)
    type(c_ptr), value :: arg
    type(norn_error_info), intent(in) :: info
    failures = failures + 1
    failed_task = norn_text(info%task)
  end subroutine
  subroutine on_event(arg, token, name, worker, begin) bind(c)
    type(c_ptr), value :: arg
    type(norn_token), value :: token
    type(c_ptr), value :: name
    integer(c_int32_t), value :: worker, begin
    if (norn_text(name) == "watched") events = events + 1 + 10 * begin
  end subroutine
  subroutine on_thread(arg, index, begin) bind(c)
    type(c_ptr), value :: arg
    integer(c_int32_t), value :: index, begin
    !$omp atomic
    threads = threads + 2 * begin - 1
    started = 1
  end subroutine
  subroutine on_log(arg, level, text) bind(c)
    type(c_ptr), value :: arg
    integer(c_int32_t), value :: level
    type(c_ptr), value :: text
  end subroutine
  integer(c_int32_t) function broken(self, arg) bind(c)
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    broken = norn_self_fail(self, 3, "broken")
  end function
  integer(c_int32_t) function count_text(arg, text, bytes) bind(c)
    type(c_ptr), value :: arg, text
    integer(c_int64_t), value :: bytes
    integer(c_int64_t), pointer :: total
    call c_f_pointer(arg, total)
    total = total + bytes
    count_text = 0
  end function
end module

program test
  use listening
  use check
  implicit none
  type(norn_runtime) :: rt
  type(norn_config) :: config
  type(norn_token) :: token, gate
  type(norn_runtime_stats) :: stats
  character(:), allocatable :: text
  type(c_ptr) :: name, again
  integer(c_int64_t), target :: total = 0
  integer :: stat, version(3)
  character(200) :: why

  config%workers = 1
  config%on_failure = NORN_ON_FAILURE_CALL
  config%failure = c_funloc(on_failure)
  config%task_event = c_funloc(on_event)
  config%thread = c_funloc(on_thread)
  config%log = c_funloc(on_log)
  call norn_open(rt, config)
  call norn_submit(rt, broken, token=token, name="watched")
  call norn_await(rt, token, stat=stat)
  call norn_drain(rt, stat=stat)
  call expect_equal(failures, 1, "calls of the failure callback")
  call expect_equal(trim(failed_task), "watched", "what failed")
  call expect_equal(events, 12, "begin and end")

  call norn_promise(rt, gate, "the gate")
  call norn_submit(rt, broken, after=[gate], token=token, name="behind it")
  call norn_dump(rt, NORN_DUMP_TEXT, text)
  call expect_says(text, "behind it")
  call expect_says(text, "the gate")
  call norn_dump(rt, NORN_DUMP_TEXT, count_text, c_loc(total))
  call expect_equal(total, int(len(text), c_int64_t), "length of the dump in pieces")
  call norn_dump(rt, 77_c_int32_t, text, stat, why)
  call expect_status(stat, NORN_E_INVALID, "a format there is not")
  call norn_stats(rt, stats)
  call expect_equal(stats%submitted, 2_c_int64_t, "submitted")
  call norn_intern(rt, "a name", name)
  call norn_intern(rt, "a name", again)
  call expect(c_associated(name, again), "one pointer for one name")
  call norn_version(version(1), version(2), version(3))
  call expect_equal(version(1), int(NORN_VERSION_MAJOR), "major version")
  call norn_cancel(rt, token)
  call norn_fulfill(rt, gate)
  call norn_seal(rt)
  call norn_submit(rt, broken, stat=stat)
  call expect_status(stat, NORN_E_CLOSED, "submit after seal")
  call norn_close_with(rt, NORN_CLOSE_CANCEL, 10000000000_c_int64_t, stat)
  call expect_equal(threads, 0, "threads running after close")
end program
