//! Encrypted connections: what `sslmode` demands is held to, and what is not safe enough is refused with advice.
//! Not the protocol: that is rustls's.

use loom_runtime::ports::EventStore;
use postgres::{
    ConnectError, Postgres,
    cluster::{Cluster, ClusterError},
};

mod fixture;

/// None where something is not installed, which has then been said; with `CI=true` that is a failure.
#[allow(clippy::print_stderr, reason = "whoever runs the tests has to see it")]
fn encrypted() -> Option<Cluster> {
    match Cluster::start_encrypted() {
        Ok(cluster) => Some(cluster),
        Err(missing @ (ClusterError::Missing | ClusterError::MissingOpenssl)) => {
            assert!(std::env::var("CI").is_err(), "{missing}");
            eprintln!("skipped: {missing}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_certificate_is_verified_or_the_connection_refused() {
    let Some(cluster) = encrypted() else { return };
    let authority = cluster.authority().display().to_string();
    let verified =
        format!("{}?sslmode=verify-full&sslrootcert={authority}&application_name=safe", cluster.url());
    let store = Postgres::connect(&verified).await.expect("a trusted server");
    assert_eq!(store.list(&Default::default()).await.expect("a list"), []);
    let mut other = fixture::raw(&format!("{}?sslmode=disable", cluster.url()), "loom").await;
    let safe = "SELECT bool_and(s.ssl) FROM pg_stat_activity AS a JOIN pg_stat_ssl AS s USING (pid) \
         WHERE a.application_name = 'safe'";
    assert!(sqlx::query_scalar::<_, bool>(safe).fetch_one(&mut other).await.expect("connections"));
    store.close().await;

    // Nobody has said that this authority is to be trusted; and the certificate is not of this name.
    let unknown = format!("{}?sslmode=verify-full", cluster.url());
    let elsewhere = verified.replace("127.0.0.1", "localhost");
    for url in [unknown, elsewhere] {
        let refused = Postgres::connect(&url).await.expect_err("not trusted");
        assert!(matches!(refused, ConnectError::Unsafe { .. }), "{refused}");
        assert!(refused.to_string().contains("sslrootcert=ca.pem"), "{refused}");
    }
    // To encrypt is all that is demanded here.
    Postgres::connect(&format!("{}?sslmode=require", cluster.url()))
        .await
        .expect("any certificate")
        .close()
        .await;
}

#[tokio::test]
async fn a_server_without_encryption_is_refused_where_it_is_demanded() {
    let Some(cluster) = Cluster::shared() else { return };
    let refused = Postgres::connect(&format!("{}?sslmode=require", cluster.url())).await.expect_err("no TLS");
    assert!(matches!(refused, ConnectError::Unsafe { .. }), "{refused}");
    assert!(refused.to_string().contains("ssl = on"), "{refused}");
}
