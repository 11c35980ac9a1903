//! A program in readable form, for reports.

use std::fmt::{self, Display, Formatter, Write};

use crate::program::{Access, Op, Program, Reduction, Step, Storage, Task, Token};

impl Display for Token {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Token::Zero => write!(f, "zero"),
            Token::Task(task) => write!(f, "t{task}"),
            Token::Promise(promise) => write!(f, "p{promise}"),
            Token::Group(group) => write!(f, "done(g{group})"),
        }
    }
}

fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    items
        .into_iter()
        .map(|item| item.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn accesses(accesses: &[Access]) -> String {
    list(accesses.iter().map(|access| {
        let slot = access
            .slot
            .map(|slot| format!(" in slot {slot}"))
            .unwrap_or_default();
        format!("{:?} d{}{slot}", access.mode, access.data)
    }))
}

fn tasks(tasks: &[usize]) -> String {
    list(tasks.iter().map(|task| format!("t{task}")))
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Step::Touch => write!(f, "touch"),
            Step::Await(token) => write!(f, "await {token}"),
            Step::AwaitAll(tokens) => write!(f, "await all of {}", list(tokens)),
            Step::AwaitAny(tokens) => write!(f, "await any of {}", list(tokens)),
            Step::Refused(task) => write!(f, "await t{task} (refused)"),
            Step::Release(data) => write!(f, "release d{data}"),
            Step::Submit(task) => write!(f, "submit t{task}"),
            Step::Hold { holds, own } => {
                write!(f, "hold {holds}, unhold {own} (foreign: {})", holds - own)
            }
            Step::Resolve(promise) => write!(f, "resolve p{promise}"),
            Step::Fail(code) => write!(f, "fail {code}"),
        }
    }
}

impl Program {
    fn show_op(&self, op: &Op) -> String {
        match op {
            Op::Declare(task) => format!("declare t{task}"),
            Op::Promise(promise) => {
                let plan = &self.promises[*promise];
                let how = plan
                    .fail
                    .map_or("fulfilled".to_string(), |code| format!("fails with {code}"));
                let kind = if plan.declared {
                    "declare, never bound:"
                } else {
                    "promise"
                };
                format!("{kind} p{promise} ({how})")
            }
            Op::Reserve(slots) => {
                let show = |slot: &usize| {
                    format!(
                        "slot {slot}: {:?} d{}",
                        self.slots[*slot].mode, self.slots[*slot].data
                    )
                };
                format!("reserve {}", list(slots.iter().map(show)))
            }
            Op::Abandon(slot) => format!("abandon slot {slot}"),
            Op::Submit(batch) => format!("submit {}", tasks(batch)),
            Op::Edge(before, after) => format!("edge {before} -> t{after}"),
            Op::Start(task) => format!("start t{task}"),
            Op::Cancel(token) => format!("cancel {token}"),
            Op::Resolve(promise) => format!("resolve p{promise}"),
            Op::Foreign(promise) => format!("foreign thread resolves p{promise}"),
            Op::Callback(token, promise) => format!("on completion of {token} resolve p{promise}"),
            Op::GroupOpen(group) => match self.groups[*group] {
                Some(parent) => format!("open g{group} in g{parent}"),
                None => format!("open g{group}"),
            },
            Op::GroupClose(group) => format!("close g{group}"),
            Op::Split(split) => {
                let split = &self.splits[*split];
                let parts = split
                    .parts
                    .iter()
                    .map(|part| format!("d{part}{:?}", self.handles[*part].words));
                format!("split d{} into {}", split.data, list(parts))
            }
            Op::Join(split) => format!("join d{}", self.splits[*split].data),
            Op::Acquire(hold) => format!("acquire h{hold}: {}", accesses(&self.holds[*hold])),
            Op::Release(hold) => format!("release h{hold}"),
            Op::Await(token) => format!("await {token}"),
            Op::Drain => "drain".to_string(),
            Op::Progress => "progress".to_string(),
        }
    }

    fn show_task(&self, id: usize) -> String {
        let task = &self.tasks[id];
        let mut text = format!("t{id}:");
        let mut add = |part: String| {
            text.push(' ');
            text.push_str(&part);
        };
        if let Some(parent) = task.parent {
            add(format!(
                "{} t{parent};",
                if task.child { "child of" } else { "nested in" }
            ));
        }
        if !task.accesses.is_empty() {
            add(format!("{};", accesses(&task.accesses)));
        }
        if !task.after.is_empty() {
            add(format!("after {};", list(&task.after)));
        }
        if !task.edges.is_empty() {
            add(format!("edges from {};", list(&task.edges)));
        }
        for (set, name) in [
            (task.declared, "declared"),
            (task.held, "held"),
            (task.always, "RUN_ALWAYS"),
            (task.copy_arg, "COPY_ARG"),
        ] {
            if set {
                add(format!("{name};"));
            }
        }
        if let Some(group) = task.group {
            add(format!("group g{group};"));
        }
        if (task.priority, task.cpus, task.place) != (0, 0, (0, 0)) {
            add(format!(
                "priority {}, cpus {}, place {:?};",
                task.priority, task.cpus, task.place
            ));
        }
        add(format!("body: {}", list(&task.steps)));
        text
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let mut text = String::new();
        let shown = |id: usize| {
            let nested = |task: &Task| task.steps.contains(&Step::Submit(id));
            let by_main = |op: &Op| matches!(op, Op::Submit(batch) if batch.contains(&id));
            self.script.iter().any(by_main) || self.tasks.iter().any(nested)
        };
        let tasks: Vec<usize> = (0..self.tasks.len()).filter(|id| shown(*id)).collect();
        let mut used: Vec<usize> = Vec::new();
        for id in &tasks {
            used.extend(self.tasks[*id].accesses.iter().map(|access| access.data));
        }
        for op in &self.script {
            match op {
                Op::Reserve(slots) => used.extend(slots.iter().map(|slot| self.slots[*slot].data)),
                Op::Acquire(hold) => {
                    used.extend(self.holds[*hold].iter().map(|access| access.data))
                }
                Op::Split(split) => used.push(self.splits[*split].data),
                _ => {}
            }
        }
        for (index, root) in self.roots.iter().enumerate() {
            if !used
                .iter()
                .any(|handle| self.handles[*handle].root == index)
            {
                continue;
            }
            write!(
                text,
                "  d{}: {} words, {:?}",
                root.handle, root.words, root.storage
            )?;
            if root.reduction != Reduction::None {
                write!(text, ", {:?}", root.reduction)?;
            }
            if root.storage == Storage::Name {
                write!(text, " (contents kept by the test)")?;
            }
            writeln!(
                text,
                "{}{}",
                if root.unwritten { ", unwritten" } else { "" },
                if root.constant { ", constant" } else { "" }
            )?;
        }
        for id in tasks {
            writeln!(text, "  {}", self.show_task(id))?;
        }
        writeln!(text, "  script:")?;
        for op in &self.script {
            writeln!(text, "    {}", self.show_op(op))?;
        }
        f.write_str(&text)
    }
}
