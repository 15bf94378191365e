//! A network namespace without a name: it lives as long as a thread and what that started.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, gettid};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};

use super::plan::{Plan, Side};
use super::{interfaces, processes};
use crate::error::CliError;
use crate::exit::Exit;

/// A namespace; what runs in it is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Namespace {
    /// The thread that is in it.
    pub(super) thread_id: Pid,
    jobs: Option<mpsc::UnboundedSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// A command to run there.
#[derive(Debug)]
struct Job {
    command: Command,
    /// It has a process group of its own.
    is_group: bool,
    ended: oneshot::Sender<io::Result<ExitStatus>>,
}

/// What the thread tells when the namespace is ready.
type Made = Result<(Pid, Vec<OwnedFd>), CliError>;

impl Namespace {
    /// Makes a namespace with the interfaces of one side; returns it with the other ends of
    /// their devices, in the order of the paths.
    pub(super) async fn make(
        side: Side,
        plan: &Arc<Plan>,
    ) -> Result<(Self, Vec<OwnedFd>), CliError> {
        let (tell, made) = oneshot::channel();
        let (jobs, inbox) = mpsc::unbounded_channel();
        let plan = Arc::clone(plan);
        let thread = std::thread::Builder::new()
            .name(format!("mpfec-{side}"))
            .spawn(move || live(side, &plan, tell, inbox))
            .map_err(|error| CliError::other("cannot start a thread", error))?;
        let (thread_id, devices) = made.await.unwrap_or_else(|_| {
            Err(CliError::other(
                "cannot make a namespace",
                "a thread is gone",
            ))
        })?;
        let namespace = Self {
            thread_id,
            jobs: Some(jobs),
            thread: Some(thread),
        };
        Ok((namespace, devices))
    }

    /// Starts a command there; the answer comes when it has ended. One runs at a time.
    pub(super) fn run(
        &self,
        command: Command,
        is_group: bool,
    ) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let (tell, ended) = oneshot::channel();
        let job = Job {
            command,
            is_group,
            ended: tell,
        };
        if let Some(jobs) = &self.jobs {
            // If the thread is gone, so is the job, and that is what is told.
            let _ = jobs.send(job);
        }
        async move {
            let gone = |_| Err(io::Error::other("its thread is gone"));
            ended.await.unwrap_or_else(gone)
        }
    }

    /// Tells it to end what runs there; dropping waits until that is done.
    pub(super) fn end(&mut self) {
        self.jobs = None;
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// The life of the thread.
fn live(side: Side, plan: &Plan, tell: oneshot::Sender<Made>, jobs: mpsc::UnboundedReceiver<Job>) {
    let runtime = enter().and_then(|()| {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::other("cannot start a runtime", error))
    });
    // Nobody waits for an answer only if the program is being stopped.
    match runtime {
        Err(error) => drop(tell.send(Err(error))),
        Ok(runtime) => runtime.block_on(async {
            let devices = interfaces::make(side, plan).await;
            let is_made = devices.is_ok();
            let is_told = tell.send(devices.map(|devices| (gettid(), devices)));
            if is_made && is_told.is_ok() {
                work(jobs).await;
                processes::end_all().await;
            }
        }),
    }
}

/// Leaves the namespaces that this thread was born into.
fn enter() -> Result<(), CliError> {
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).map_err(|error| {
        let hint = match error {
            Errno::EPERM => {
                "run it as root, or without root as unshare --map-root-user mpfec lab ..."
            }
            _ => "see whether unshare --net works here",
        };
        let what = format!("cannot make a network namespace: {}", lower(error));
        CliError::new(Exit::Other, what, hint)
    })?;
    // What is mounted elsewhere later is seen here, not the other way round.
    let no = None::<&str>;
    let show = mount(no, "/", no, MsFlags::MS_REC | MsFlags::MS_SLAVE, no).and_then(|()| {
        // What lies there knows the interfaces of the namespace that it was mounted in.
        let _ = umount2("/sys", MntFlags::MNT_DETACH);
        mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), no)
    });
    if let Err(error) = show {
        tracing::warn!(%error, "/sys shows other interfaces than there are");
    }
    Ok(())
}

/// Runs one command after the other until nobody can ask for any more.
async fn work(mut jobs: mpsc::UnboundedReceiver<Job>) {
    while let Some(job) = jobs.recv().await {
        let Job {
            mut command,
            is_group,
            ended,
        } = job;
        let mut child = match command.kill_on_drop(true).spawn() {
            Ok(child) => child,
            Err(error) => {
                let _ = ended.send(Err(error));
                continue;
            }
        };
        tokio::select! {
            status = child.wait() => drop(ended.send(status)),
            // Nobody asks for a second one meanwhile, so this is the end.
            _ = jobs.recv() => return stop(&mut child, is_group).await,
        }
    }
}

/// Asks a command to end, and ends it if it does not.
async fn stop(child: &mut Child, is_group: bool) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id.map(Pid::from_raw) {
        // It may just have ended.
        let _ = if is_group {
            killpg(id, Signal::SIGTERM)
        } else {
            kill(id, Signal::SIGTERM)
        };
    }
    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

fn lower(error: Errno) -> String {
    crate::error::plain(&io::Error::from(error))
}

/// How long a command may take to end.
const GRACE: Duration = Duration::from_millis(400);
