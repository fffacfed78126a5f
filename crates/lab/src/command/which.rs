//! The lab that a command is for.

/// Which lab a command is for.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct Which {
    /// The lab's name, where several run
    #[arg(long, value_name = "NAME")]
    pub lab: Option<String>,
}
