/* Random tasks over several data give what they give one after another. */
#include "check.h"

enum { DATA = 12, MAX_ACCESSES = 9 };
typedef struct work {
    int count;
    int which[MAX_ACCESSES];
    int32_t mode[MAX_ACCESSES];
    uint64_t salt;
} work;
static uint64_t live[DATA], oracle[DATA];
static uint64_t seed;
static uint64_t next_random(void) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t x = seed;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static void apply(const work *mine, uint64_t *values) {
    uint64_t mix = mine->salt;
    for (int i = 0; i < mine->count; i++)
        if (mine->mode[i] != NORN_WRITE) mix = (mix ^ values[mine->which[i]]) * 0x100000001b3u + 1;
    for (int i = 0; i < mine->count; i++)
        if (mine->mode[i] != NORN_READ) values[mine->which[i]] = mix + (uint64_t)mine->which[i];
}
static int32_t body(norn_self *self, void *arg) {
    (void)self;
    apply(arg, live);
    return 0;
}

int main(void) {
    for (int graph = 0; graph < (int)scaled(20, 500); graph++) {
        seed = (uint64_t)graph * 1000003u + 17;
        norn_runtime *rt = open_plain();
        norn_data data[DATA];
        memset(live, 0, sizeof live);
        memset(oracle, 0, sizeof oracle);
        for (int i = 0; i < DATA; i++) data[i] = DATUM(rt, live[i]);
        for (int i = 0; i < 500; i++) {
            work mine;
            memset(&mine, 0, sizeof mine);
            mine.salt = next_random();
            mine.count = (int)(next_random() % 3 == 0 ? next_random() % MAX_ACCESSES + 1 : next_random() % 3 + 1);
            int used[DATA] = {0};
            norn_access accesses[MAX_ACCESSES];
            int kept = 0;
            for (int k = 0; k < mine.count; k++) {
                const int which = (int)(next_random() % DATA);
                if (used[which]++) continue;
                mine.which[kept] = which;
                mine.mode[kept] = (int32_t)(next_random() % 3) + NORN_READ;
                accesses[kept] = norn_access_of(data[which], mine.mode[kept]);
                kept++;
            }
            mine.count = kept;
            apply(&mine, oracle);
            work *copy = malloc(sizeof *copy);
            *copy = mine;
            norn_task task = task_of(body, copy);
            task.drop = free;
            task.accesses = accesses;
            task.access_count = (uint64_t)kept;
            submit(rt, &task);
        }
        CHECK_OK(norn_close(rt));
        for (int i = 0; i < DATA; i++) CHECK(live[i] == oracle[i]);
    }
    return 0;
}
