//! Private servers for real: MariaDB of this machine, and MySQL where `PLIMSOLL_TEST_MYSQL` names one.

mod cleanup;
mod confine;
mod lifecycle;
mod options;
mod place;
mod refusals;
mod trial_directory;
