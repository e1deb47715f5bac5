//! A connection that was lost is replaced by the client itself: the service needs nothing but to be
//! there.

use crate::resp_clients::Service;
use crate::resp_clients::client::{ALL, BOTH, Client, Entry};
use crate::resp_clients::detour::Detour;
use crate::resp_clients::session::Session;

const LIMIT: &str = "SG.LIMIT alice 5 3600000";

fn cut(detour: &Detour, service: &Service, session: &mut Session) {
    detour.cut_and_lead_to(service.at);
    if session.client == Client::RedisCli {
        // It notices by a command, which it gives up, as it says on its standard error.
        session.write("ECHO lost");
    }
}

#[test]
fn after_a_lost_connection() {
    for (client, protocol) in ALL.into_iter().flat_map(|client| BOTH.map(|protocol| (client, protocol))) {
        let service = Service::start();
        let detour = Detour::to(service.at);
        let mut session = client.enter(Entry::of(detour.at, protocol));
        assert_eq!(session.numbers(LIMIT)[..3], [1, 5, 4], "{client:?} {protocol:?}");
        cut(&detour, &service, &mut session);
        assert_eq!(session.numbers(LIMIT)[..3], [1, 5, 3], "{client:?} {protocol:?}");
        assert_eq!(detour.connections(), 1, "{client:?} {protocol:?}");
    }
}

/// The state was in memory, so it begins anew.
#[test]
fn after_a_restart() {
    for (client, protocol) in ALL.into_iter().flat_map(|client| BOTH.map(|protocol| (client, protocol))) {
        let service = Service::start();
        let detour = Detour::to(service.at);
        let mut session = client.enter(Entry::of(detour.at, protocol));
        assert_eq!(session.numbers(LIMIT)[..3], [1, 5, 4], "{client:?} {protocol:?}");
        drop(service);
        let service = Service::start();
        cut(&detour, &service, &mut session);
        assert_eq!(session.numbers(LIMIT)[..3], [1, 5, 4], "{client:?} {protocol:?}");
    }
}
