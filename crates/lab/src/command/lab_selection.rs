//! The lab on which a command acts.

/// Selection of the lab.
#[derive(clap::Args, Clone, Default, Debug)]
pub struct LabSelection {
    /// Name of the lab, if several are running
    #[arg(long, value_name = "NAME")]
    pub lab: Option<String>,
}
