//! Congestion controls that are start-up, avoidance and recovery at once.
