/*
 * Nonblocking collectives, and counts that an int cannot hold in them.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_PLUGIN_COLLECTIVES_H
#define NORN_PLUGIN_COLLECTIVES_H

/* A collective on its way to MPI: handles found, counts in the form that the call takes. */
struct call {
    const norn_mpi_collective *what;
    MPI_Comm comm;
    MPI_Op op;
    const void *send;
    void *recv;
    int64_t send_count, recv_count;
    MPI_Datatype send_type, recv_type;
    const void *send_counts, *send_displs, *recv_counts, *recv_displs;
    MPI_Request *request;
};

static int post_small(const struct call *c) {
    const void *send = c->send;
    void *recv = c->recv;
    int sends = (int)c->send_count, recvs = (int)c->recv_count, root = c->what->root;
    MPI_Datatype st = c->send_type, rt = c->recv_type;
    switch (c->what->kind) {
    case NORN_MPI_BARRIER: return MPI_Ibarrier(c->comm, c->request);
    case NORN_MPI_BCAST: return MPI_Ibcast(recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_REDUCE: return MPI_Ireduce(send, recv, recvs, rt, c->op, root, c->comm, c->request);
    case NORN_MPI_ALLREDUCE: return MPI_Iallreduce(send, recv, recvs, rt, c->op, c->comm, c->request);
    case NORN_MPI_GATHER: return MPI_Igather(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_GATHERV:
        return MPI_Igatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTER: return MPI_Iscatter(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTERV:
        return MPI_Iscatterv(send, c->send_counts, c->send_displs, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_ALLGATHER: return MPI_Iallgather(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLGATHERV:
        return MPI_Iallgatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALL: return MPI_Ialltoall(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALLV:
        return MPI_Ialltoallv(send, c->send_counts, c->send_displs, st, recv, c->recv_counts, c->recv_displs, rt,
                              c->comm, c->request);
    }
    return NORN_MPI_INVALID;
}

static int post_large(const struct call *c) {
    const void *send = c->send;
    void *recv = c->recv;
    big sends = c->send_count, recvs = c->recv_count;
    int root = c->what->root;
    MPI_Datatype st = c->send_type, rt = c->recv_type;
    switch (c->what->kind) {
    case NORN_MPI_BCAST: return newer.Ibcast(recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_REDUCE: return newer.Ireduce(send, recv, recvs, rt, c->op, root, c->comm, c->request);
    case NORN_MPI_ALLREDUCE: return newer.Iallreduce(send, recv, recvs, rt, c->op, c->comm, c->request);
    case NORN_MPI_GATHER: return newer.Igather(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_GATHERV:
        return newer.Igatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTER: return newer.Iscatter(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTERV:
        return newer.Iscatterv(send, c->send_counts, c->send_displs, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_ALLGATHER: return newer.Iallgather(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLGATHERV:
        return newer.Iallgatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALL: return newer.Ialltoall(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALLV:
        return newer.Ialltoallv(send, c->send_counts, c->send_displs, st, recv, c->recv_counts, c->recv_displs, rt,
                                c->comm, c->request);
    }
    return NORN_MPI_INVALID;
}

/* Which arguments a kind reads; on a rank that is not the root, MPI ignores some of them. */
enum { SENDS = 1, RECVS = 2, SEND_V = 4, RECV_V = 8, REDUCES = 16 };

static int parts_of(const norn_mpi_collective *what, int rank) {
    int root = rank == what->root;
    switch (what->kind) {
    case NORN_MPI_BCAST: return RECVS;
    case NORN_MPI_REDUCE:
    case NORN_MPI_ALLREDUCE: return RECVS | REDUCES;
    case NORN_MPI_GATHER: return SENDS | (root ? RECVS : 0);
    case NORN_MPI_GATHERV: return SENDS | (root ? RECVS | RECV_V : 0);
    case NORN_MPI_SCATTER: return RECVS | (root ? SENDS : 0);
    case NORN_MPI_SCATTERV: return RECVS | (root ? SENDS | SEND_V : 0);
    case NORN_MPI_ALLGATHER:
    case NORN_MPI_ALLTOALL: return SENDS | RECVS;
    case NORN_MPI_ALLGATHERV: return SENDS | RECVS | RECV_V;
    case NORN_MPI_ALLTOALLV: return SENDS | RECVS | SEND_V | RECV_V;
    default: return 0;
    }
}

static int fits(const int64_t *numbers, int size) {
    for (int i = 0; i < size; i++) {
        if (numbers[i] > INT_MAX || numbers[i] < INT_MIN) return 0;
    }
    return 1;
}

/* Copies an array into `to` in the form that the call takes, and says where. */
static void copy_numbers(const int64_t *numbers, int size, int large, int64_t **to, const void **out) {
    *out = *to;
    if (large) {
        memcpy(*to, numbers, (size_t)size * sizeof *numbers);
    } else {
        int *ints = (int *)*to;
        for (int i = 0; i < size; i++) ints[i] = (int)numbers[i];
    }
    *to += size;
}

/* A count beyond an int, without large counts: one element of a type made for it. */
static int one_element(int64_t *count, MPI_Datatype *type, MPI_Datatype *kept) {
    MPI_Datatype made;
    if (*count <= INT_MAX) return MPI_SUCCESS;
    EXPECT(large_type(*type, *count, &made));
    *kept = *type = made;
    *count = 1;
    return MPI_SUCCESS;
}

static int post_collective(struct call *c, int parts, int ranks, struct keep *keep) {
    const norn_mpi_collective *what = c->what;
    int64_t *at = keep->arrays;
    int send_v = (parts & SEND_V) != 0, recv_v = (parts & RECV_V) != 0;
    int v_fits = (!send_v || (fits(what->send_counts, ranks) && fits(what->send_displs, ranks))) &&
                 (!recv_v || (fits(what->recv_counts, ranks) && fits(what->recv_displs, ranks)));
    int large = !v_fits || c->send_count > INT_MAX || c->recv_count > INT_MAX;
    if (large && !has_large_counts()) {
        /* The other ranks cannot know that this one would need a derived type here, nor can an operation use one. */
        if (!v_fits || (parts & REDUCES)) return NORN_MPI_TOO_LARGE;
        EXPECT(one_element(&c->send_count, &c->send_type, &keep->types[0]));
        EXPECT(one_element(&c->recv_count, &c->recv_type, &keep->types[1]));
        large = 0;
    }
    if (send_v) {
        copy_numbers(what->send_counts, ranks, large, &at, &c->send_counts);
        copy_numbers(what->send_displs, ranks, large, &at, &c->send_displs);
    }
    if (recv_v) {
        copy_numbers(what->recv_counts, ranks, large, &at, &c->recv_counts);
        copy_numbers(what->recv_displs, ranks, large, &at, &c->recv_displs);
    }
    return large ? post_large(c) : post_small(c);
}

static int32_t icollective(norn_mpi_requests *set, const norn_mpi_collective *what, uint64_t user, int32_t *slot) {
    const void *in_place = (const void *)(intptr_t)NORN_MPI_IN_PLACE;
    struct call c = {what, COMM_OF(what->comm), MPI_OP_NULL, what->send, what->recv, 0, 0, MPI_BYTE, MPI_BYTE,
                     NULL, NULL, NULL, NULL, NULL};
    int ranks, rank, parts, vs;
    struct keep *keep;
    int32_t at;
    if (no_comm(c.comm) || what->kind < NORN_MPI_BARRIER || what->kind > NORN_MPI_ALLTOALLV) return NORN_MPI_INVALID;
    EXPECT(MPI_Comm_size(c.comm, &ranks));
    EXPECT(MPI_Comm_rank(c.comm, &rank));
    parts = parts_of(what, rank);
    if (what->send == in_place) {
        c.send = MPI_IN_PLACE;
        parts &= ~(SENDS | SEND_V);
    }
    if (what->recv == in_place) {
        c.recv = MPI_IN_PLACE;
        parts &= ~(RECVS | RECV_V);
    }
    if (parts & SENDS) c.send_type = TYPE_OF(what->send_type);
    if (parts & RECVS) c.recv_type = TYPE_OF(what->recv_type);
    if (parts & REDUCES) c.op = OP_OF(what->op);
    if ((parts & SENDS) && !(parts & SEND_V)) c.send_count = what->send_count;
    if ((parts & RECVS) && !(parts & RECV_V)) c.recv_count = what->recv_count;
    if (no_type(c.send_type) || no_type(c.recv_type) || ((parts & REDUCES) && (!c.op || c.op == MPI_OP_NULL)) ||
        c.send_count < 0 || c.recv_count < 0) {
        return NORN_MPI_INVALID;
    }
    vs = ((parts & SEND_V) ? 2 : 0) + ((parts & RECV_V) ? 2 : 0);
    EXPECT(take_slot(set, &at));
    c.request = &set->request[at];
    keep = new_keep((int64_t)vs * ranks);
    return posted(set, at, keep == NULL ? NORN_MPI_NO_MEMORY : post_collective(&c, parts, ranks, keep), COLLECTIVE,
                  user, keep, slot);
}

static int32_t count_limit(int64_t *limit) {
    *limit = has_large_counts() ? INT64_MAX : INT32_MAX;
    return NORN_MPI_OK;
}

#endif /* NORN_PLUGIN_COLLECTIVES_H */
