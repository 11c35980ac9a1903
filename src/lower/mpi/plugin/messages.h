/*
 * Sends and receives, duplicates of communicators, and the test that ends every
 * request.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_PLUGIN_MESSAGES_H
#define NORN_PLUGIN_MESSAGES_H

static int32_t isend(norn_mpi_requests *set, const void *buffer, int64_t count, int32_t datatype, int32_t dest,
                     int32_t tag, int32_t comm, uint64_t user, int32_t *slot) {
    MPI_Datatype type = type_of_message(set, datatype);
    MPI_Comm all = comm_of_message(set, comm);
    MPI_Request *request;
    int32_t at;
    int code;
    if (no_comm(all) || no_type(type) || count < 0) return NORN_MPI_INVALID;
    EXPECT(take_slot(set, &at));
    request = &set->request[at];
    if (count <= INT_MAX) {
        code = MPI_Isend(buffer, (int)count, type, dest, tag, all, request);
    } else if (newer.Isend != NULL) {
        code = newer.Isend(buffer, count, type, dest, tag, all, request);
    } else if ((code = large_type(type, count, &type)) == MPI_SUCCESS) {
        code = MPI_Isend(buffer, 1, type, dest, tag, all, request);
        MPI_Type_free(&type);
    }
    return posted(set, at, code, SEND, user, NULL, slot);
}

static int32_t irecv(norn_mpi_requests *set, void *buffer, int64_t count, int32_t datatype, int32_t source, int32_t tag,
                     int32_t comm, uint64_t user, int32_t *slot) {
    MPI_Datatype type = type_of_message(set, datatype);
    MPI_Comm all = comm_of_message(set, comm);
    MPI_Request *request;
    int32_t at;
    int code;
    if (no_comm(all) || no_type(type) || count < 0) return NORN_MPI_INVALID;
    if (source == NORN_MPI_ANY) source = MPI_ANY_SOURCE;
    if (tag == NORN_MPI_ANY) tag = MPI_ANY_TAG;
    EXPECT(take_slot(set, &at));
    request = &set->request[at];
    if (count <= INT_MAX) {
        code = MPI_Irecv(buffer, (int)count, type, source, tag, all, request);
    } else if (newer.Irecv != NULL) {
        code = newer.Irecv(buffer, count, type, source, tag, all, request);
    } else if ((code = large_type(type, count, &type)) == MPI_SUCCESS) {
        code = MPI_Irecv(buffer, 1, type, source, tag, all, request);
        MPI_Type_free(&type);
    }
    return posted(set, at, code, RECV, user, NULL, slot);
}

static int32_t cancel(norn_mpi_requests *set, int32_t slot) {
    if (slot < 0 || slot >= set->used) return NORN_MPI_INVALID;
    if (set->slot[slot].kind == CANCELLED_RECV) return NORN_MPI_OK;
    if (set->slot[slot].kind != RECV) return NORN_MPI_INVALID;
    if (set->request[slot] != MPI_REQUEST_NULL) EXPECT(MPI_Cancel(&set->request[slot]));
    set->slot[slot].kind = CANCELLED_RECV;
    return NORN_MPI_OK;
}

static int post_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
    struct quiet quiet;
    quiet_begin(&quiet);
    quiet_one(&quiet, comm);
    if (newer.Comm_idup_with_info != NULL) {
        return quiet_end(&quiet, newer.Comm_idup_with_info(comm, MPI_INFO_NULL, made, request));
    }
    return quiet_end(&quiet, MPI_Comm_idup(comm, made, request));
}

static int32_t comm_idup(norn_mpi_requests *set, int32_t comm, uint64_t user, int32_t *slot) {
    MPI_Comm all = COMM_OF(comm);
    struct keep *keep;
    int32_t at;
    if (no_comm(all)) return NORN_MPI_INVALID;
    EXPECT(take_slot(set, &at));
    keep = new_keep(0);
    return posted(set, at, keep == NULL ? NORN_MPI_NO_MEMORY : post_idup(all, &keep->comm, &set->request[at]), IDUP,
                  user, keep, slot);
}

static void read_message(MPI_Status *status, norn_mpi_done *done) {
    big bytes;
    done->source = status->MPI_SOURCE;
    done->tag = status->MPI_TAG;
    done->bytes = newer.Get_count(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes != MPI_UNDEFINED
                      ? bytes
                      : NORN_MPI_UNDEFINED;
}

/* Describes a finished request and frees its slot. `status` NULL: MPI had nothing to wait for. */
static void finish(norn_mpi_requests *set, int32_t at, int code, MPI_Status *status, norn_mpi_done *done) {
    struct slot *slot = &set->slot[at];
    int class = MPI_SUCCESS, cancelled = 0;
    memset(done, 0, sizeof *done);
    done->user = slot->user;
    done->slot = at;
    done->bytes = NORN_MPI_UNDEFINED;
    done->outcome = NORN_MPI_DONE;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        done->outcome = class == MPI_ERR_TRUNCATE ? NORN_MPI_TRUNCATED : NORN_MPI_FAILED;
        done->error = code;
    }
    if (status != NULL && slot->kind == CANCELLED_RECV) MPI_Test_cancelled(status, &cancelled);
    if (cancelled) {
        done->outcome = NORN_MPI_CANCELLED;
        done->error = 0;
    } else if (status != NULL && (slot->kind == RECV || slot->kind == CANCELLED_RECV)) {
        read_message(status, done);
    } else if (slot->kind == IDUP && code == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(slot->keep->comm, MPI_ERRORS_RETURN);
        done->comm = COMM_INT(slot->keep->comm);
    }
    drop_keep(slot->keep);
    slot->keep = NULL;
    give_back(set, at);
}

/*
 * Open MPI sends the error of a message to the handler of its communicator, that of a collective to MPI_COMM_WORLD's.
 * MPICH has forgotten which it was.
 */
static void quiet_requests(struct quiet *quiet, int collectives) {
    quiet->count = 0;
#ifdef OPEN_MPI
    if (collectives) quiet_one(quiet, MPI_COMM_WORLD);
#else
    (void)collectives;
    quiet_one(quiet, MPI_COMM_SELF);
    quiet_one(quiet, MPI_COMM_WORLD);
#endif
}

static int test_one(norn_mpi_requests *set, int *flag) {
    struct quiet quiet;
    quiet_requests(&quiet, set->collectives);
    return quiet_end(&quiet, MPI_Test(&set->tested[0], flag, &set->status[0]));
}

#ifndef OPEN_MPI
enum { MOST_MORE = 8 };

/*
 * MPI_Testsome of MPICH lets messages go on once in eight requests, and ends as many large ones: the fewer there are left,
 * the more tests, each of all that are left. A test of one request that has ended is cheap, and else lets messages go on. So those
 * behind the last one that has ended are tested one by one, which are likely to end next.
 */
static void test_more(norn_mpi_requests *set, int count, int *finished) {
    if (*finished == MPI_UNDEFINED || *finished == 0) return;
    int at = set->index[*finished - 1] + 1;
    for (int more = 0; more < MOST_MORE && at < count; more++, at++) {
        int flag, code;
        /* Nothing says in which order Testsome names those that have ended. */
        if (set->tested[at] == MPI_REQUEST_NULL) continue;
        MPI_Status *status = &set->status[*finished];
        code = MPI_Test(&set->tested[at], &flag, status);
        if (code == MPI_SUCCESS && !flag) return;
        status->MPI_ERROR = code;
        set->index[(*finished)++] = at;
    }
}
#endif

/* MPI_Testsome with the errors of requests in the statuses, and any other error as a code. */
static int test_some(norn_mpi_requests *set, int count, int *finished) {
    struct quiet quiet;
    int code, class;
    quiet_requests(&quiet, set->collectives);
    code = MPI_Testsome(count, set->tested, finished, set->index, set->status);
#ifdef OPEN_MPI
    /* It looks, then lets messages go on, and does not look again: what has just come would be seen in the next test only. */
    if (code == MPI_SUCCESS && *finished == 0) {
        code = MPI_Testsome(count, set->tested, finished, set->index, set->status);
    }
#endif
    if (code == MPI_SUCCESS) {
        /* Only now are the errors in the statuses undefined. */
        for (int i = 0; i < *finished; i++) set->status[i].MPI_ERROR = MPI_SUCCESS;
#ifndef OPEN_MPI
        test_more(set, count, finished);
#endif
        return quiet_end(&quiet, MPI_SUCCESS);
    }
    code = quiet_end(&quiet, code);
    MPI_Error_class(code, &class);
    return class == MPI_ERR_IN_STATUS ? MPI_SUCCESS : code;
}

/* Collects the requests to test; writes those that MPI has nothing to wait for to `done` at once. */
static int collect(norn_mpi_requests *set, const int32_t *slots, int32_t count, norn_mpi_done *done, int32_t *written) {
    int collected = 0;
    set->collectives = 0;
    set->pass++;
    for (int32_t i = 0; i < count; i++) {
        int32_t at = slots[i];
        if (at < 0 || at >= set->used || set->slot[at].kind == FREE || set->slot[at].pass == set->pass) continue;
        if (set->request[at] == MPI_REQUEST_NULL) {
            finish(set, at, MPI_SUCCESS, NULL, &done[(*written)++]);
            continue;
        }
        set->slot[at].pass = set->pass;
        if (set->slot[at].kind == COLLECTIVE || set->slot[at].kind == IDUP) set->collectives = 1;
        set->tested[collected] = set->request[at];
        set->tested_slot[collected++] = at;
    }
    return collected;
}

static int32_t test(norn_mpi_requests *set, const int32_t *slots, int32_t slot_count, norn_mpi_done *done,
                    int32_t *done_count) {
    int32_t written = 0;
    int count, finished = 0, flag, code;
    if (slot_count > set->scratch) EXPECT(grow_scratch(set, slot_count));
    count = collect(set, slots, slot_count, done, &written);
    if (count == 1) {
        code = test_one(set, &flag);
        set->request[set->tested_slot[0]] = set->tested[0];
        if (code != MPI_SUCCESS || flag) {
            finish(set, set->tested_slot[0], code, &set->status[0], &done[written++]);
        }
    } else if (count > 1) {
        code = test_some(set, count, &finished);
        if (code == MPI_SUCCESS) {
            if (finished == MPI_UNDEFINED) finished = 0;
            for (int i = 0; i < finished; i++) {
                finish(set, set->tested_slot[set->index[i]], set->status[i].MPI_ERROR, &set->status[i],
                       &done[written++]);
            }
        } else {
            /* No statuses then. What MPI gave up has failed; where it gave up nothing, the call itself has. */
            int32_t before = written;
            for (int i = 0; i < count; i++) {
                if (set->tested[i] != MPI_REQUEST_NULL) continue;
                finish(set, set->tested_slot[i], code, NULL, &done[written++]);
            }
            if (written == before && written == 0) return code;
        }
    }
    *done_count = written;
    return NORN_MPI_OK;
}

static int32_t iprobe(int32_t source, int32_t tag, int32_t comm, int32_t *found, norn_mpi_done *message) {
    MPI_Comm all = COMM_OF(comm);
    MPI_Status status;
    int flag;
    if (no_comm(all)) return NORN_MPI_INVALID;
    EXPECT(MPI_Iprobe(source == NORN_MPI_ANY ? MPI_ANY_SOURCE : source, tag == NORN_MPI_ANY ? MPI_ANY_TAG : tag, all,
                      &flag, &status));
    *found = flag != 0;
    if (flag) {
        memset(message, 0, sizeof *message);
        message->slot = -1;
        read_message(&status, message);
    }
    return NORN_MPI_OK;
}

#endif /* NORN_PLUGIN_MESSAGES_H */
