#include "tile_issue.h"

#include <stddef.h>

/* One kernel: a task that updates one tile and reads up to two, or a plain call. The accesses are all that norn is
 * told: no edge between tasks is named anywhere. */
int32_t issue(struct execution *execution, const struct kernel *kernel, int32_t priority, struct operands operands) {
    execution->kernels++;
    execution->flops += kernel->flops(&operands);
    if (execution->rt == NULL)
        return kernel->run(NULL, &operands);

    norn_access accesses[3];
    uint64_t count = 0;
    accesses[count++] = norn_update(operands.c->data);
    if (operands.a != NULL)
        accesses[count++] = norn_read(operands.a->data);
    if (operands.b != NULL)
        accesses[count++] = norn_read(operands.b->data);

    norn_task task = NORN_TASK_INIT;
    task.run = kernel->run;
    task.name = kernel->name;
    task.arg = &operands; /* copied by norn, so that no task needs an allocation */
    task.arg_bytes = sizeof operands;
    task.flags = NORN_COPY_ARG;
    task.accesses = accesses;
    task.access_count = count;
    task.priority = priority;
    task.group = execution->group;
    return norn_submit(execution->rt, &task, NULL);
}

int32_t urgency(const struct tiles *l, int col, enum urgency of) {
    return (int32_t)(l->across - col) * URGENCIES + (int32_t)of;
}
