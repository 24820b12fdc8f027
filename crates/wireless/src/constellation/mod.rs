//! Satellite constellations.
