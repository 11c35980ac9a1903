/*
 * What the conformance tests share: the table, the communicator that norn would
 * use, and how a check says what is wrong.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#include "norn.h"
#include "norn_mpi_plugin.h"

extern const norn_mpi_table *mpi;
extern norn_mpi_requests *set;
extern int32_t comm; /* the duplicate, as norn would use it */
extern int rank, size, failures;

/* Keeps what went wrong first. */
__attribute__((format(printf, 3, 4))) void note(int line, const char *condition, const char *format, ...);

/* A condition that must hold, or the test ends. */
#define MUST(condition, ...)                              \
    do {                                                  \
        if (!(condition)) {                               \
            note(__LINE__, #condition, __VA_ARGS__);      \
            return;                                       \
        }                                                 \
    } while (0)

/* A call of the table that must succeed. */
#define OK(call) MUST((last_code = (call)) == 0, "code %d, %s", (int)last_code, text_of(last_code))

extern int32_t last_code;
const char *text_of(int32_t code);

/* Handles of norn's types and operations; NORN_MPI_NO_HANDLE where there is none. */
int32_t type_of(norn_type number);
int32_t op_of(norn_op number);

/* Handles of MPI's as the table has them. */
int32_t integer_of(MPI_Comm of);
int32_t integer_of_type(MPI_Datatype of);
int32_t integer_of_op(MPI_Op of);
MPI_Comm comm_of(int32_t integer);

/* The neighbours in the ring of all ranks. */
int next(void);
int previous(void);

/* Tests one slot until it is done; gives up after a minute. */
int32_t finish(int32_t slot, norn_mpi_done *done);

/* Tests `count` slots together until all are done; `done` in the order of completion. */
int32_t finish_all(const int32_t *slots, int32_t count, norn_mpi_done *done);

/* When a check runs: always; on one rank, or where CONFORMANCE_LARGE is set; only where it is. */
enum when { ALWAYS, ALONE, WITH_LARGE };
struct check {
    const char *name;
    void (*run)(void);
    enum when when;
};
#define CHECK(check, when) \
    { #check, check, when }

/* The checks of each area, ended by one without a name. */
extern const struct check library_checks[], communicator_checks[], type_checks[], message_checks[], request_checks[],
    collective_checks[], large_checks[];

#endif
