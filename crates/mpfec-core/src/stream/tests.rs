//! Two ends of the data plane over a network that loses, reorders and repeats.

mod bounds;
mod harness;
mod hostile;
mod life;
mod transfer;
mod waiting;
