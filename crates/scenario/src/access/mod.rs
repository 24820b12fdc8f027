//! `rate = { model = "...", ... }`: the access networks. One file for each model, which reads its keys and
//! lists them again in the resolved form; every key has a default unless the model's page says otherwise.

use network::AccessConfig;
use network::access::WifiConfig;
use serde::ser::{Serialize, Serializer};

use crate::document::{Item, Table};
use crate::error::Error;
use crate::schema::{
    CELL_REDUCED, CELL_UPLINK, DAMA, GEO, HSDPA, KnownTable, LEO, LTE, NR, POLICER, TOKEN_BUCKET,
    UMTS_UPLINK, WIFI,
};

pub(crate) mod cellular;
mod geo;
mod leo;
mod policer;
mod rrc;
mod token_bucket;
mod wifi;

/// How a table of a model is read.
type Reader = fn(&Table<'_>) -> Result<AccessConfig, Error>;

/// The models, each under the word that stands after `model`.
const MODELS: &[(&str, (&KnownTable, Reader))] = &[
    ("token-bucket", (&TOKEN_BUCKET, token_bucket::read)),
    ("policer", (&POLICER, policer::read)),
    ("lte", (&LTE, cellular::lte)),
    ("5g", (&NR, cellular::nr)),
    ("cell-uplink", (&CELL_UPLINK, cellular::uplink)),
    ("cell-reduced", (&CELL_REDUCED, cellular::reduced)),
    ("hsdpa", (&HSDPA, cellular::hsdpa)),
    ("umts-uplink", (&UMTS_UPLINK, cellular::umts_uplink)),
    ("wifi", (&WIFI, wifi::read)),
    ("geo", (&GEO, geo::read)),
    ("dama", (&DAMA, geo::read_dama)),
    ("leo", (&LEO, leo::read)),
];

/// The model of a table in which `model` stands; `None` where it does not.
pub(crate) fn read(item: &Item<'_>) -> Option<Result<AccessConfig, Error>> {
    let model = item.inner("model")?.choice(MODELS);
    Some(model.and_then(|(known, read)| read(&item.table(known)?)))
}

/// What `{ model = "wifi" }` says.
pub(crate) fn usual_wifi() -> WifiConfig {
    wifi::usual()
}

/// For output.
pub(crate) struct Access<'a>(pub(crate) &'a AccessConfig);

impl Serialize for Access<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AccessConfig::TokenBucket(config) => token_bucket::write(config, serializer),
            AccessConfig::Policer(config) => policer::write(config, serializer),
            AccessConfig::Cellular(config) => cellular::write(config, serializer),
            AccessConfig::Wifi(config) => wifi::write(config, serializer),
            AccessConfig::Geo(config) => geo::write(config, serializer),
            AccessConfig::Dama(config) => geo::write_dama(config, serializer),
            AccessConfig::Leo(config) => leo::write(config, serializer),
        }
    }
}
