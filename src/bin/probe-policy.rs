//! `probe-policy`: the controller, and the tools around it.

use std::process::ExitCode;

fn main() -> ExitCode {
    probe_policy::cli::main()
}
