/*
 * The pending requests of one user: slots, and what a request needs until it is
 * complete.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_PLUGIN_REQUESTS_H
#define NORN_PLUGIN_REQUESTS_H

enum kind { FREE, SEND, RECV, CANCELLED_RECV, COLLECTIVE, IDUP };

/* What a request needs until it is complete. */
struct keep {
    MPI_Comm comm;         /* IDUP: where MPI writes the new communicator */
    MPI_Datatype types[2]; /* made for a large count, or MPI_DATATYPE_NULL */
    int64_t arrays[];      /* counts and displacements, which MPI may read until then */
};

struct slot {
    uint64_t user;
    struct keep *keep; /* or NULL */
    uint32_t pass;     /* of the last test that looked at it */
    uint8_t kind;
};

/*
 * Messages go over a few communicators, mostly as bytes. Some MPIs take a lock to find a handle by its integer, so these are
 * kept. A set has its communicators until it is closed, so what is kept is never another's.
 */
enum { LANES = 16 }; /* a power of two */
struct lane {
    int32_t integer;
    MPI_Comm comm; /* or MPI_COMM_NULL */
};

/*
 * Slots [0, used) have been in use at least once; those of them that are free
 * are in `free`. A slot's request is MPI_REQUEST_NULL where it is free, and
 * where MPI had nothing to wait for.
 */
struct norn_mpi_requests {
    struct lane lane[LANES];
    int32_t byte; /* the integer of MPI_BYTE */
    MPI_Request *request; /* by slot */
    struct slot *slot;
    int32_t *free;
    int32_t used, free_count, capacity;
    uint32_t pass;
    /* Scratch of a test. */
    int collectives; /* some are among the tested */
    MPI_Request *tested;
    int32_t *tested_slot;
    int *index;
    MPI_Status *status;
    int32_t scratch;
};

static int32_t requests_open(norn_mpi_requests **set) {
    norn_mpi_requests *made = calloc(1, sizeof *made);
    if (made == NULL) return NORN_MPI_NO_MEMORY;
    for (int i = 0; i < LANES; i++) made->lane[i].comm = MPI_COMM_NULL;
    made->byte = TYPE_INT(MPI_BYTE);
    *set = made;
    return NORN_MPI_OK;
}

static int32_t requests_close(norn_mpi_requests *set) {
    if (set->free_count != set->used) return NORN_MPI_BUSY;
    free(set->request);
    free(set->slot);
    free(set->free);
    free(set->tested);
    free(set->tested_slot);
    free(set->index);
    free(set->status);
    free(set);
    return NORN_MPI_OK;
}

static MPI_Comm comm_of_message(norn_mpi_requests *set, int32_t integer) {
    struct lane *lane = &set->lane[(uint32_t)integer % LANES];
    if (lane->comm == MPI_COMM_NULL || lane->integer != integer) {
        lane->comm = COMM_OF(integer);
        lane->integer = integer;
    }
    return lane->comm;
}

static MPI_Datatype type_of_message(norn_mpi_requests *set, int32_t integer) {
    return integer == set->byte ? MPI_BYTE : TYPE_OF(integer);
}

/* An array for `count` elements; on failure the old one stays. */
static int grow(void *array, int32_t count, size_t size) {
    void *old, *fresh;
    memcpy(&old, array, sizeof old);
    fresh = realloc(old, (size_t)count * size);
    if (fresh == NULL) return 0;
    memcpy(array, &fresh, sizeof fresh);
    return 1;
}

static int grow_slots(norn_mpi_requests *set) {
    int32_t more = set->capacity == 0 ? 64 : set->capacity > INT32_MAX / 2 ? INT32_MAX : 2 * set->capacity;
    if (more == set->capacity || !grow(&set->request, more, sizeof *set->request) ||
        !grow(&set->slot, more, sizeof *set->slot) || !grow(&set->free, more, sizeof *set->free)) {
        return NORN_MPI_NO_MEMORY;
    }
    set->capacity = more;
    return NORN_MPI_OK;
}

static int grow_scratch(norn_mpi_requests *set, int32_t count) {
    if (count <= set->scratch) return NORN_MPI_OK;
    if (!grow(&set->tested, count, sizeof *set->tested) || !grow(&set->tested_slot, count, sizeof *set->tested_slot) ||
        !grow(&set->index, count, sizeof *set->index) || !grow(&set->status, count, sizeof *set->status)) {
        return NORN_MPI_NO_MEMORY;
    }
    set->scratch = count;
    return NORN_MPI_OK;
}

/* A slot for a request about to be posted; `post` or `give_back` ends what this begins. */
static int take_slot(norn_mpi_requests *set, int32_t *slot) {
    if (set->free_count > 0) {
        *slot = set->free[--set->free_count];
        return NORN_MPI_OK;
    }
    if (set->used == set->capacity) EXPECT(grow_slots(set));
    *slot = set->used++;
    return NORN_MPI_OK;
}

static void drop_keep(struct keep *keep) {
    if (keep == NULL) return;
    for (int i = 0; i < 2; i++) {
        if (keep->types[i] != MPI_DATATYPE_NULL) MPI_Type_free(&keep->types[i]);
    }
    free(keep);
}

static void give_back(norn_mpi_requests *set, int32_t slot) {
    set->request[slot] = MPI_REQUEST_NULL;
    set->slot[slot].kind = FREE;
    set->free[set->free_count++] = slot;
}

/* Ends a posting call: with its slot, or with everything undone. */
static int32_t posted(norn_mpi_requests *set, int32_t slot, int code, uint8_t kind, uint64_t user, struct keep *keep,
                      int32_t *out) {
    if (code != MPI_SUCCESS) {
        drop_keep(keep);
        give_back(set, slot);
        return code;
    }
    set->slot[slot].user = user;
    set->slot[slot].keep = keep;
    set->slot[slot].kind = kind;
    *out = slot;
    return NORN_MPI_OK;
}

static struct keep *new_keep(int64_t array_elements) {
    struct keep *keep;
    if (array_elements > (INT64_MAX - (int64_t)sizeof *keep) / 8) return NULL;
    keep = malloc(sizeof *keep + (size_t)array_elements * sizeof *keep->arrays);
    if (keep == NULL) return NULL;
    keep->comm = MPI_COMM_NULL;
    keep->types[0] = keep->types[1] = MPI_DATATYPE_NULL;
    return keep;
}

#endif /* NORN_PLUGIN_REQUESTS_H */
