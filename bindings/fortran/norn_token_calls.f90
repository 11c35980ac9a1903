! Tokens and groups: declaring, promising, edges, waiting, cancelling, records.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_token_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_funloc, c_funptr, c_int32_t, c_int64_t, c_loc, &
    c_null_ptr, c_ptr, c_sizeof
  use norn_c, only: NORN_E_INVALID, NORN_OK, norn_complete_fn, norn_error_info, norn_group, norn_runtime, norn_token, &
    c_await => norn_await, c_await_all => norn_await_all, c_await_any => norn_await_any, c_cancel => norn_cancel, &
    c_declare => norn_declare, c_edge => norn_edge, c_error => norn_error, c_eventfd => norn_eventfd, c_fail => norn_fail, &
    c_fulfill => norn_fulfill, c_group_close => norn_group_close, c_group_open => norn_group_open, &
    c_intern => norn_intern, c_on_complete => norn_on_complete, c_promise => norn_promise, c_start => norn_start, &
    c_test => norn_test, c_unhold => norn_unhold
  use norn_failure_policy, only: c_text, conclude
  use norn_contained, only: contained_text, is_contained
  implicit none
  private
  public :: norn_declare, norn_promise, norn_fulfill, norn_fail, norn_edge, norn_start, norn_await, norn_await_all, &
    norn_await_any, norn_test, norn_cancel, norn_error, norn_on_complete, norn_eventfd, norn_unhold, norn_group_open, &
    norn_group_close

  interface norn_declare
    procedure declare
  end interface
  interface norn_promise
    procedure promise
  end interface
  interface norn_fulfill
    procedure fulfill
  end interface
  interface norn_fail
    procedure fail
  end interface
  interface norn_edge
    procedure edge
  end interface
  interface norn_start
    procedure start
  end interface
  interface norn_await
    procedure await_token
  end interface
  interface norn_await_all
    procedure await_all
  end interface
  interface norn_await_any
    procedure await_any
  end interface
  interface norn_test
    procedure test
  end interface
  interface norn_cancel
    procedure cancel
  end interface
  interface norn_error
    procedure error_of
  end interface
  interface norn_on_complete
    procedure on_complete
  end interface
  interface norn_eventfd
    procedure eventfd
  end interface
  interface norn_unhold
    procedure unhold
  end interface
  interface norn_group_open
    procedure group_open
  end interface
  interface norn_group_close
    procedure group_close
  end interface

contains

  ! A token whose task comes later, in as=.
  subroutine declare(rt, token, name, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(inout) :: token
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: c_name
    type(c_ptr) :: lasting
    integer(c_int32_t) :: status
    lasting = c_null_ptr
    status = NORN_OK
    if (present(name)) then
      c_name = c_text(name)
      status = c_intern(rt, c_loc(c_name), lasting)
    end if
    if (status == NORN_OK) status = c_declare(rt, lasting, token)
    call conclude(status, "norn_declare", rt, stat, errmsg)
  end subroutine

  ! A token that other code completes.
  subroutine promise(rt, token, name, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(inout) :: token
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: c_name
    type(c_ptr) :: lasting
    integer(c_int32_t) :: status
    lasting = c_null_ptr
    status = NORN_OK
    if (present(name)) then
      c_name = c_text(name)
      status = c_intern(rt, c_loc(c_name), lasting)
    end if
    if (status == NORN_OK) status = c_promise(rt, lasting, token)
    call conclude(status, "norn_promise", rt, stat, errmsg)
  end subroutine

  subroutine fulfill(rt, promise, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: promise
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_fulfill(rt, promise), "norn_fulfill", rt, stat, errmsg)
  end subroutine

  subroutine fail(rt, promise, code, message, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: promise
    integer, intent(in) :: code
    character(*), intent(in) :: message
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: text
    text = c_text(message)
    call conclude(c_fail(rt, promise, int(code, c_int32_t), c_loc(text)), "norn_fail", rt, stat, errmsg)
  end subroutine

  ! `after` runs only after `before`; it is declared and not yet bound, or held.
  subroutine edge(rt, before, after, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: before, after
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_edge(rt, before, after), "norn_edge", rt, stat, errmsg)
  end subroutine

  ! Lets a held task go.
  subroutine start(rt, token, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_start(rt, token), "norn_start", rt, stat, errmsg)
  end subroutine

  ! Waits until a token completes; stat says how it ended. timeout_ns: absent or negative: no limit.
  subroutine await_token(rt, token, timeout_ns, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit
    limit = -1
    if (present(timeout_ns)) limit = timeout_ns
    call conclude(c_await(rt, token, limit), "norn_await", rt, stat, errmsg)
  end subroutine

  subroutine await_all(rt, tokens, timeout_ns, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: tokens(:)
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit
    type(norn_token), allocatable, target :: c_tokens(:)
    limit = -1
    if (present(timeout_ns)) limit = timeout_ns
    allocate (c_tokens(max(1, size(tokens))))
    c_tokens(:size(tokens)) = tokens
    call conclude(c_await_all(rt, c_loc(c_tokens), size(tokens, kind=c_int64_t), limit), "norn_await_all", rt, stat, errmsg)
  end subroutine

  ! `index`: which has completed, counted from 1; also where it failed.
  subroutine await_any(rt, tokens, index, timeout_ns, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: tokens(:)
    integer, intent(inout) :: index
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit
    type(norn_token), allocatable, target :: c_tokens(:)
    integer(c_int64_t) :: found
    integer(c_int32_t) :: status
    limit = -1
    if (present(timeout_ns)) limit = timeout_ns
    allocate (c_tokens(max(1, size(tokens))))
    c_tokens(:size(tokens)) = tokens
    found = -1
    status = c_await_any(rt, c_loc(c_tokens), size(tokens, kind=c_int64_t), limit, found)
    if (found >= 0) index = int(found) + 1
    call conclude(status, "norn_await_any", rt, stat, errmsg)
  end subroutine

  subroutine test(rt, token, done, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    logical, intent(inout) :: done
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: is_done, status
    status = c_test(rt, token, is_done)
    if (status == NORN_OK) done = is_done /= 0
    call conclude(status, "norn_test", rt, stat, errmsg)
  end subroutine

  subroutine cancel(rt, token, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_cancel(rt, token), "norn_cancel", rt, stat, errmsg)
  end subroutine

  ! The record of a token; norn_text(info%text) is its sentence.
  subroutine error_of(rt, token, info, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    type(norn_error_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    info%struct_size = c_sizeof(info)
    call conclude(c_error(rt, token, info), "norn_error", rt, stat, errmsg)
  end subroutine

  ! Calls fn(arg, token, status) once when the token completes.
  subroutine on_complete(rt, token, fn, arg, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    procedure(norn_complete_fn) :: fn
    type(c_ptr), intent(in), optional, target :: arg
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: argument
    type(c_funptr) :: callback
    argument = c_null_ptr
    if (present(arg)) argument = arg
    callback = c_funloc(fn)
    if (is_contained(callback)) then
      call conclude(NORN_E_INVALID, "norn_on_complete", rt, stat, errmsg, contained_text)
    else
      call conclude(c_on_complete(rt, token, callback, argument), "norn_on_complete", rt, stat, errmsg)
    end if
  end subroutine

  ! A file descriptor that becomes readable when the token completes; the caller closes it.
  subroutine eventfd(rt, token, fd, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    integer(c_int32_t), intent(inout) :: fd
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_eventfd(rt, token, fd), "norn_eventfd", rt, stat, errmsg)
  end subroutine

  ! Takes k holds off a task (norn_self_hold).
  subroutine unhold(rt, token, k, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_token), intent(in) :: token
    integer(c_int32_t), intent(in) :: k
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_unhold(rt, token, k), "norn_unhold", rt, stat, errmsg)
  end subroutine

  ! `done` may be used at once; it completes after norn_group_close, when all members have.
  subroutine group_open(rt, group, done, name, parent, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_group), intent(inout) :: group
    type(norn_token), intent(inout), optional :: done
    character(*), intent(in), optional :: name
    type(norn_group), intent(in), optional :: parent
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char, len=:), allocatable, target :: c_name
    type(c_ptr) :: lasting
    integer(c_int32_t) :: status
    type(norn_group) :: outer
    type(norn_token) :: finished
    lasting = c_null_ptr
    outer = norn_group()
    if (present(parent)) outer = parent
    status = NORN_OK
    if (present(name)) then
      c_name = c_text(name)
      status = c_intern(rt, c_loc(c_name), lasting)
    end if
    if (status == NORN_OK) status = c_group_open(rt, lasting, outer, group, finished)
    if (status == NORN_OK .and. present(done)) done = finished
    call conclude(status, "norn_group_open", rt, stat, errmsg)
  end subroutine

  subroutine group_close(rt, group, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_group), intent(in) :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_group_close(rt, group), "norn_group_close", rt, stat, errmsg)
  end subroutine
end module
