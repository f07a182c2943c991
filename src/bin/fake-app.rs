//! The scripted app that lessons and tests run on, and the load on it.

use std::process::ExitCode;

fn main() -> ExitCode {
    probe_policy::fake_app::main()
}
