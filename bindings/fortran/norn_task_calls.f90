! Tasks: a procedure with an argument, or an object that runs itself; what a body may ask. `arg` and `task` are TARGET although
! they are only read: norn_c says why.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_task_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_f_procpointer, c_funloc, c_funptr, c_int, &
    c_int32_t, c_int64_t, c_loc, c_ptr, c_sizeof
  use norn_c, only: NORN_COPY_ARG, NORN_E_INVALID, NORN_OK, norn_data, norn_group, norn_place, norn_runtime, norn_self, &
    norn_self_info, norn_task, norn_task_fn, norn_token, c_access => norn_access, c_intern => norn_intern, &
    c_self_fail => norn_self_fail, c_self_get => norn_self_get, c_self_hold => norn_self_hold, &
    c_self_provider => norn_self_provider, c_self_release => norn_self_release, c_submit => norn_submit, &
    c_submit_many => norn_submit_many
  use norn_failure_policy, only: c_text, conclude
  use norn_accesses, only: norn_access, to_c
  use norn_contained, only: contained_text, is_contained
  implicit none
  private
  public :: norn_body, norn_plain, norn_indexed, norn_submit, norn_submit_subroutine, norn_submit_many, norn_self_get, &
    norn_self_release, norn_self_fail, norn_self_hold, norn_self_provider

  ! A task as an object. norn_submit copies it (components that are allocatable are copied too, what pointers point to is
  ! not); `run` is called with the copy, once; the copy is finalized after it, before the token shows complete.
  type, abstract :: norn_body
  contains
    procedure(run_body), deferred :: run
  end type
  abstract interface
    ! stat is 0 on entry; anything else at the end is the failure code of the task.
    subroutine run_body(this, self, stat)
      import
      class(norn_body), intent(inout) :: this
      type(norn_self), intent(in) :: self
      integer, intent(inout) :: stat
    end subroutine
  end interface

  ! norn_submit(rt, run, arg, ...)   run: a module procedure with the interface norn_task_fn; arg: c_loc(x)
  ! norn_submit(rt, c_funloc(run), arg, ...)   run: any bind(c) function whose arguments C passes in the same way
  ! norn_submit(rt, body, ...)       body: an object that extends norn_body
  ! norn_submit(rt, task, ...)       task: the structure of C
  interface norn_submit
    procedure submit_procedure, submit_pointer, submit_body, submit_task
  end interface

  ! norn_submit_subroutine(rt, work, ...)         a module subroutine without arguments
  ! norn_submit_subroutine(rt, work, index, ...)  one with an integer, such as the number of a block
  ! What is there already in a module of kernels, as it is. It cannot fail.
  interface norn_submit_subroutine
    procedure submit_plain, submit_indexed
  end interface
  abstract interface
    subroutine norn_plain()
    end subroutine
    subroutine norn_indexed(index)
      integer, intent(in) :: index
    end subroutine
  end interface

  ! norn_submit_many(rt, tasks, [tokens]): all or nothing.
  interface norn_submit_many
    procedure submit_tasks
  end interface

  interface norn_self_get
    procedure get
  end interface
  interface norn_self_release
    procedure release
  end interface
  ! stat = norn_self_fail(self, code, text): sets the text of the failure record and gives the code back.
  interface norn_self_fail
    procedure fail
  end interface
  interface norn_self_hold
    procedure hold
  end interface
  interface norn_self_provider
    procedure provider
  end interface

  ! c_funloc goes to variables first, never into an argument: GCC 12 makes of that a constant in read-only memory which the
  ! linker cannot fill.

  ! What norn carries for a subroutine, copied into the task.
  type, bind(c) :: call_of
    type(c_funptr) :: work
    integer(c_int) :: index
  end type

  ! What norn carries for a norn_body: a plain type around it, because C pointers know no polymorphic objects.
  type :: carrier
    class(norn_body), allocatable :: body
  end type

contains

  subroutine submit_procedure(rt, run, arg, accesses, after, token, name, priority, cpus, flags, place, group, as, drop, &
    arg_bytes, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    procedure(norn_task_fn) :: run
    type(c_ptr), intent(in), optional, target :: arg
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_token), intent(inout), optional :: token
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: priority, cpus, flags
    type(norn_place), intent(in), optional :: place
    type(norn_group), intent(in), optional :: group
    type(c_funptr), intent(in), optional :: drop
    integer, intent(in), optional :: arg_bytes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call submit_pointer(rt, c_funloc(run), arg, accesses, after, token, name, priority, cpus, flags, place, group, as, drop, &
      arg_bytes, stat, errmsg)
  end subroutine

  ! arg_bytes: norn copies so many bytes (64 at most) from arg at submit, and the body gets the copy (NORN_COPY_ARG).
  subroutine submit_pointer(rt, run, arg, accesses, after, token, name, priority, cpus, flags, place, group, as, drop, &
    arg_bytes, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(c_funptr), intent(in) :: run
    type(c_ptr), intent(in), optional, target :: arg
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_token), intent(inout), optional :: token
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: priority, cpus, flags
    type(norn_place), intent(in), optional :: place
    type(norn_group), intent(in), optional :: group
    type(c_funptr), intent(in), optional :: drop
    integer, intent(in), optional :: arg_bytes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (is_contained(run)) then
      call conclude(NORN_E_INVALID, "norn_submit", rt, stat, errmsg, contained_text)
      return
    end if
    call submit_as("norn_submit", rt, run, arg, accesses, after, token, name, priority, cpus, flags, place, group, as, &
      drop, arg_bytes, stat, errmsg)
  end subroutine

  ! `call`: the name that an error is reported under. `run` is known to be no contained procedure.
  subroutine submit_as(call, rt, run, arg, accesses, after, token, name, priority, cpus, flags, place, group, as, drop, &
    arg_bytes, stat, errmsg)
    character(*), intent(in) :: call
    type(norn_runtime), intent(in) :: rt
    type(c_funptr), intent(in) :: run
    type(c_ptr), intent(in), optional, target :: arg
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_token), intent(inout), optional :: token
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: priority, cpus, flags
    type(norn_place), intent(in), optional :: place
    type(norn_group), intent(in), optional :: group
    type(c_funptr), intent(in), optional :: drop
    integer, intent(in), optional :: arg_bytes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task) :: task
    character(:), allocatable :: problem
    integer(c_int32_t) :: status

    task%run = run
    if (present(arg)) task%arg = arg
    if (present(drop)) task%drop = drop
    if (present(priority)) task%priority = priority
    if (present(cpus)) task%cpus = cpus
    if (present(flags)) task%flags = flags
    if (present(place)) task%place = place
    if (present(group)) task%group = group
    if (present(as)) task%as = as
    if (present(arg_bytes)) then
      task%arg_bytes = int(arg_bytes, c_int32_t)
      task%flags = ior(task%flags, NORN_COPY_ARG)
    end if
    call submit(rt, task, accesses, after, name, token, status, problem)
    call conclude(status, call, rt, stat, errmsg, problem)
  end subroutine

  subroutine submit_body(rt, body, accesses, after, token, name, priority, cpus, flags, place, group, as, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    class(norn_body), intent(in) :: body
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_token), intent(inout), optional :: token
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: priority, cpus, flags
    type(norn_place), intent(in), optional :: place
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(carrier), pointer :: copy
    type(norn_task) :: task
    character(:), allocatable :: problem
    integer(c_int32_t) :: status

    allocate (copy)
    allocate (copy%body, source=body)
    task%run = c_funloc(run_carrier)
    task%drop = c_funloc(drop_carrier)
    task%arg = c_loc(copy)
    if (present(priority)) task%priority = priority
    if (present(cpus)) task%cpus = cpus
    if (present(flags)) task%flags = flags
    if (present(place)) task%place = place
    if (present(group)) task%group = group
    if (present(as)) task%as = as
    call submit(rt, task, accesses, after, name, token, status, problem)
    ! A refused submission has taken nothing.
    if (status /= NORN_OK) deallocate (copy)
    call conclude(status, "norn_submit", rt, stat, errmsg, problem)
  end subroutine

  subroutine submit_plain(rt, work, accesses, after, token, name, priority, cpus, flags, place, group, as, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    procedure(norn_plain) :: work
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_token), intent(inout), optional :: token
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: priority, cpus, flags
    type(norn_place), intent(in), optional :: place
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(call_of), target :: it
    type(c_funptr) :: run
    it = call_of(c_funloc(work), 0)
    if (is_contained(it%work)) then
      call conclude(NORN_E_INVALID, "norn_submit_subroutine", rt, stat, errmsg, contained_text)
      return
    end if
    run = c_funloc(run_plain)
    call submit_as("norn_submit_subroutine", rt, run, c_loc(it), accesses, after, token, name, priority, cpus, flags, &
      place, group, as, arg_bytes=int(c_sizeof(it)), stat=stat, errmsg=errmsg)
  end subroutine

  subroutine submit_indexed(rt, work, index, accesses, after, token, name, priority, cpus, flags, place, group, as, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    procedure(norn_indexed) :: work
    integer, intent(in) :: index
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(in), optional :: after(:), as
    type(norn_token), intent(inout), optional :: token
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: priority, cpus, flags
    type(norn_place), intent(in), optional :: place
    type(norn_group), intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(call_of), target :: it
    type(c_funptr) :: run
    it = call_of(c_funloc(work), index)
    if (is_contained(it%work)) then
      call conclude(NORN_E_INVALID, "norn_submit_subroutine", rt, stat, errmsg, contained_text)
      return
    end if
    run = c_funloc(run_indexed)
    call submit_as("norn_submit_subroutine", rt, run, c_loc(it), accesses, after, token, name, priority, cpus, flags, &
      place, group, as, arg_bytes=int(c_sizeof(it)), stat=stat, errmsg=errmsg)
  end subroutine

  integer(c_int32_t) function run_plain(self, arg) bind(c, name="")
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    type(call_of), pointer :: it
    procedure(norn_plain), pointer :: work
    associate (not_used => self)
    end associate
    call c_f_pointer(arg, it)
    call c_f_procpointer(it%work, work)
    call work()
    run_plain = 0
  end function

  integer(c_int32_t) function run_indexed(self, arg) bind(c, name="")
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    type(call_of), pointer :: it
    procedure(norn_indexed), pointer :: work
    associate (not_used => self)
    end associate
    call c_f_pointer(arg, it)
    call c_f_procpointer(it%work, work)
    call work(int(it%index))
    run_indexed = 0
  end function

  ! The structure as it is; struct_size is filled in.
  subroutine submit_task(rt, task, token, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_task), intent(in), target :: task
    type(norn_token), intent(inout), optional :: token
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task) :: sized
    type(norn_token), target :: new
    integer(c_int32_t) :: status
    sized = task
    sized%struct_size = c_sizeof(sized)
    status = c_submit(rt, sized, c_loc(new))
    if (status == NORN_OK .and. present(token)) token = new
    call conclude(status, "norn_submit", rt, stat, errmsg)
  end subroutine

  subroutine submit_tasks(rt, tasks, tokens, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_task), intent(in), target :: tasks(:)
    type(norn_token), intent(inout), optional :: tokens(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(norn_task), allocatable, target :: sized(:)
    type(norn_token), allocatable, target :: new(:)
    integer(c_int32_t) :: status
    if (present(tokens)) then
      if (size(tokens) /= size(tasks)) then
        call conclude(NORN_E_INVALID, "norn_submit_many", rt, stat, errmsg, "tokens and tasks differ in size")
        return
      end if
    end if
    allocate (sized(max(1, size(tasks))), new(max(1, size(tasks))))
    sized(:size(tasks)) = tasks
    sized%struct_size = c_sizeof(sized(1))
    status = c_submit_many(rt, c_loc(sized), size(tasks, kind=c_int64_t), c_loc(new))
    if (status == NORN_OK .and. present(tokens)) tokens = new(:size(tokens))
    call conclude(status, "norn_submit_many", rt, stat, errmsg)
  end subroutine

  ! What all forms share: the name lives as long as the runtime, the arrays for the call.
  subroutine submit(rt, task, accesses, after, name, token, status, problem)
    type(norn_runtime), intent(in) :: rt
    type(norn_task), intent(inout) :: task
    type(norn_access), intent(in), optional :: accesses(:)
    type(norn_token), intent(in), optional :: after(:)
    character(*), intent(in), optional :: name
    type(norn_token), intent(inout), optional :: token
    integer(c_int32_t), intent(out) :: status
    character(:), allocatable, intent(out) :: problem
    ! Room for the usual numbers; more go to the heap.
    type(c_access), target :: few_accesses(8)
    type(c_access), allocatable, target :: many_accesses(:)
    type(norn_token), target :: few_tokens(8)
    type(norn_token), allocatable, target :: many_tokens(:)
    character(kind=c_char, len=:), allocatable, target :: c_name
    type(norn_token), target :: new
    integer :: count

    status = NORN_OK
    task%struct_size = c_sizeof(task)
    if (present(name)) then
      c_name = c_text(name)
      status = c_intern(rt, c_loc(c_name), task%name)
    end if
    if (present(accesses) .and. status == NORN_OK) then
      count = size(accesses)
      task%access_count = count
      if (count <= size(few_accesses)) then
        call to_c(rt, accesses, few_accesses, status, problem)
        task%accesses = c_loc(few_accesses)
      else
        allocate (many_accesses(count))
        call to_c(rt, accesses, many_accesses, status, problem)
        task%accesses = c_loc(many_accesses)
      end if
    end if
    if (present(after)) then
      count = size(after)
      task%after_count = count
      if (count <= size(few_tokens)) then
        few_tokens(:count) = after
        task%after = c_loc(few_tokens)
      else
        many_tokens = after
        task%after = c_loc(many_tokens)
      end if
    end if
    if (status == NORN_OK) status = c_submit(rt, task, c_loc(new))
    if (status == NORN_OK .and. present(token)) token = new
  end subroutine

  integer(c_int32_t) function run_carrier(self, arg) bind(c, name="")
    type(norn_self), value :: self
    type(c_ptr), value :: arg
    type(carrier), pointer :: it
    integer :: stat
    call c_f_pointer(arg, it)
    stat = 0
    call it%body%run(self, stat)
    run_carrier = int(stat, c_int32_t)
  end function

  subroutine drop_carrier(arg) bind(c, name="")
    type(c_ptr), value :: arg
    type(carrier), pointer :: it
    call c_f_pointer(arg, it)
    deallocate (it)
  end subroutine

  ! What a running body knows of itself. All of these: in the body only, on its thread.
  subroutine get(self, info, stat, errmsg)
    type(norn_self), intent(in) :: self
    type(norn_self_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    info%struct_size = c_sizeof(info)
    call conclude(c_self_get(self, info), "norn_self_get", runtime_of(self), stat, errmsg)
  end subroutine

  ! Ends one access early; what was written is committed.
  subroutine release(self, data, stat, errmsg)
    type(norn_self), intent(in) :: self
    type(norn_data), intent(in) :: data
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_self_release(self, data), "norn_self_release", runtime_of(self), stat, errmsg)
  end subroutine

  integer(c_int32_t) function fail(self, code, message)
    type(norn_self), intent(in) :: self
    integer(c_int32_t), intent(in) :: code
    character(*), intent(in) :: message
    character(kind=c_char, len=:), allocatable, target :: text
    text = c_text(message)
    fail = c_self_fail(self, code, c_loc(text))
  end function

  ! The task completes when its body has ended and its holds are zero; norn_unhold takes them off.
  subroutine hold(self, k, stat, errmsg)
    type(norn_self), intent(in) :: self
    integer(c_int32_t), intent(in) :: k
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_self_hold(self, k), "norn_self_hold", runtime_of(self), stat, errmsg)
  end subroutine

  ! A leased provider handle (cuBLAS, cuSOLVER).
  subroutine provider(self, kind, handle, stat, errmsg)
    type(norn_self), intent(in) :: self
    integer(c_int32_t), intent(in) :: kind
    type(c_ptr), intent(inout) :: handle
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call conclude(c_self_provider(self, kind, handle), "norn_self_provider", runtime_of(self), stat, errmsg)
  end subroutine

  ! Whose policy an error follows.
  function runtime_of(self) result(rt)
    type(norn_self), intent(in) :: self
    type(norn_runtime) :: rt
    type(norn_self_info) :: info
    info%struct_size = c_sizeof(info)
    if (c_self_get(self, info) == NORN_OK) rt = info%runtime
  end function
end module
