//! The program `tailcut`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tailcut::main()
}
