//! A ProbePolicy as it stands in a file.

use std::path::Path;

use super::ProbePolicy;
use super::yaml::{self, YamlError};

/// Reads the policy in a file.
pub fn read_policies(path: &Path) -> Result<ProbePolicy, YamlError> {
    yaml::from_path(path)
}
