//! Tokio runtime of this process, and futures of asyncio that it completes.

use std::process;
use std::sync::{Mutex, PoisonError, RwLock};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

/// Runtime of this process, if it was started. Only threads with the GIL lock it.
static RUNTIME: Mutex<Option<&'static ProcessRuntime>> = Mutex::new(None);

/// Runtime and the process that started it: threads do not survive a fork.
struct ProcessRuntime {
    process: ProcessId,
    tokio: Runtime,
    /// Locked for reading by a thread of the runtime while it is attached to the interpreter.
    state: RwLock<InterpreterState>,
}

/// State of the interpreter, as far as threads of the runtime depend on it. One that attaches while
/// the interpreter ends would end the process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InterpreterState {
    Running,
    Ending,
}

/// Id of a process, to tell a fork from its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProcessId(u32);

impl ProcessId {
    pub(crate) fn current() -> Self {
        Self(process::id())
    }

    /// Error in any other process: its copies of connections and tasks are dead.
    pub(crate) fn check(self) -> PyResult<()> {
        if self == Self::current() {
            return Ok(());
        }
        Err(PyRuntimeError::new_err(
            "created before this process was forked; create it in the process that uses it, as in a \
             post-fork hook",
        ))
    }
}

/// Runtime of this process. It starts on first use and ends with the process.
fn runtime() -> PyResult<&'static ProcessRuntime> {
    let mut current = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = *current
        && runtime.process == ProcessId::current()
    {
        return Ok(runtime);
    }
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("slidegate")
        .enable_all()
        .build()
        .map_err(|error| PyOSError::new_err(format!("cannot start the runtime: {error}")))?;
    let state = RwLock::new(InterpreterState::Running);
    let runtime = Box::leak(Box::new(ProcessRuntime { process: ProcessId::current(), tokio, state }));
    *current = Some(runtime);
    Ok(runtime)
}

/// Registers [`detach_runtime`] for the end of the interpreter.
pub(crate) fn register_exit(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let callback = wrap_pyfunction!(detach_runtime, module)?;
    module.py().import("atexit")?.call_method1("register", (callback,))?;
    Ok(())
}

/// Waits until no thread of the runtime is attached to the interpreter, and lets none attach later.
#[pyfunction]
fn detach_runtime(py: Python<'_>) {
    let current = *RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = current.filter(|runtime| runtime.process == ProcessId::current()) {
        py.detach(|| {
            *runtime.state.write().unwrap_or_else(PoisonError::into_inner) = InterpreterState::Ending;
        });
    }
}

impl ProcessRuntime {
    /// Error while the interpreter ends: nothing would complete a future then.
    fn check_running(&self) -> PyResult<()> {
        match *self.state.read().unwrap_or_else(PoisonError::into_inner) {
            InterpreterState::Running => Ok(()),
            InterpreterState::Ending => Err(PyRuntimeError::new_err("the interpreter is shutting down")),
        }
    }

    /// Runs a function attached to the interpreter, unless that ends.
    fn attach(&self, run: impl FnOnce(Python<'_>)) {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if *state == InterpreterState::Running {
            Python::attach(run);
        }
    }
}

/// Runs a future to its end on the calling thread, without the GIL.
pub(crate) fn block_on<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = PyResult<T>> + Send,
) -> PyResult<T> {
    let runtime = runtime()?;
    py.detach(|| runtime.tokio.block_on(future))
}

/// Future of the running asyncio loop with the result of a Tokio task. Cancelling it aborts the
/// task.
pub(crate) fn awaitable<'py, T>(
    py: Python<'py>,
    future: impl Future<Output = PyResult<T>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>>
where
    T: for<'p> IntoPyObject<'p> + Send + 'static,
{
    static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let event_loop = GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?;
    let pending = event_loop.call_method0("create_future")?;
    let completion = Completion { event_loop: event_loop.unbind(), pending: pending.clone().unbind() };
    let runtime = runtime()?;
    runtime.check_running()?;
    let task = runtime.tokio.spawn(async move {
        let result = future.await;
        runtime.attach(|py| completion.send(py, result));
    });
    pending.call_method1("add_done_callback", (Abort(task.abort_handle()),))?;
    Ok(pending)
}

/// Future of asyncio that waits for a task, and its loop.
struct Completion {
    event_loop: Py<PyAny>,
    pending: Py<PyAny>,
}

impl Completion {
    fn send<T>(self, py: Python<'_>, result: PyResult<T>)
    where
        T: for<'p> IntoPyObject<'p>,
    {
        let (setter, value) = match result.and_then(|value| value.into_py_any(py)) {
            Ok(value) => ("set_result", value),
            Err(error) => ("set_exception", error.into_value(py).into_any()),
        };
        let callback = SetResult { pending: self.pending, setter };
        // A loop that was closed meanwhile has nobody who waits.
        let _ = self.event_loop.call_method1(py, "call_soon_threadsafe", (callback, value));
    }
}

/// Callback that completes a future of asyncio on the thread of its loop.
#[pyclass(frozen)]
struct SetResult {
    pending: Py<PyAny>,
    setter: &'static str,
}

#[pymethods]
impl SetResult {
    fn __call__(&self, py: Python<'_>, value: Bound<'_, PyAny>) -> PyResult<()> {
        // It may have been cancelled meanwhile.
        if !self.pending.call_method0(py, "done")?.extract::<bool>(py)? {
            self.pending.call_method1(py, self.setter, (value,))?;
        }
        Ok(())
    }
}

/// Callback that aborts a task when its future of asyncio is done; a task that has ended ignores it.
#[pyclass(frozen)]
struct Abort(AbortHandle);

#[pymethods]
impl Abort {
    fn __call__(&self, _done: Bound<'_, PyAny>) {
        self.0.abort();
    }
}
