//! The `reverie` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    match reverie_local::cli::run(reverie_local::handlers::compose) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The whole chain on one line.
            eprintln!("reverie: {error:#}");
            ExitCode::FAILURE
        }
    }
}
