//! What does it cost to keep events in eight partitions and not in one table, on Postgres?
//! Not why they are kept so: vacuum, and whoever archives, takes a part at a time.

use sqlx::{AssertSqlSafe, PgConnection};

use crate::{
    figure::{Report, Spread, Unit, timed},
    workload::{connect, server},
};

const QUESTION: &str = "partitions";
const STATEMENTS: i64 = 200;
const ROWS: i64 = 64;
/// Whose logs they are, in turn.
const EXECUTIONS: i64 = 1_000;

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading("Events of Postgres in 8 partitions; the peer has one table. 64 events a statement, each of another log.");
    if server().is_none() {
        return Ok(());
    }
    let mut connection = connect().await?;
    let parts = table(report, &mut connection, "in_parts", 8).await?;
    let whole = table(report, &mut connection, "whole", 0).await?;
    report.print(QUESTION, "events written", written_unit(), parts.0, Some(("one table", whole.0)));
    report.print(QUESTION, "logs read", read_unit(), parts.1, Some(("one table", whole.1)));
    Ok(())
}

fn written_unit() -> Unit {
    Unit::PerSecond((STATEMENTS * ROWS).unsigned_abs())
}

fn read_unit() -> Unit {
    Unit::PerSecond(EXECUTIONS.unsigned_abs())
}

/// How fast a table of so many partitions is written, and logs are read from it.
async fn table(
    report: &mut Report,
    connection: &mut PgConnection,
    name: &str,
    parts: u32,
) -> loom::Result<(Spread, Spread)> {
    let partitioned = if parts > 0 { "PARTITION BY HASH (execution)" } else { "" };
    let mut create = format!(
        "CREATE TABLE {name} (execution bigint NOT NULL, sequence bigint NOT NULL, at bigint NOT NULL, \
         payload bytea NOT NULL, PRIMARY KEY (execution, sequence)) {partitioned};"
    );
    for part in 0..parts {
        let values = format!("FOR VALUES WITH (MODULUS {parts}, REMAINDER {part})");
        create.push_str(&format!("CREATE TABLE {name}_{part} PARTITION OF {name} {values};"));
    }
    sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut *connection).await?;
    let insert = format!(
        "INSERT INTO {name} SELECT n % {EXECUTIONS}, n / {EXECUTIONS}, n, $2 FROM generate_series($1, $1 + {ROWS} - 1) AS n"
    );
    let payload = vec![b'x'; 200];
    let mut next = 0;
    let written = report
        .time(written_unit(), async || {
            timed(async {
                for _ in 0..STATEMENTS {
                    let query = sqlx::query(AssertSqlSafe(insert.clone())).bind(next).bind(&payload);
                    query.execute(&mut *connection).await?;
                    next += ROWS;
                }
                Ok(())
            })
            .await
        })
        .await?;
    let select =
        format!("SELECT * FROM {name} WHERE execution = $1 AND sequence >= 0 ORDER BY sequence LIMIT 512");
    let read = report
        .time(read_unit(), async || {
            timed(async {
                for execution in 0..EXECUTIONS {
                    let query = sqlx::query(AssertSqlSafe(select.clone())).bind(execution);
                    query.fetch_all(&mut *connection).await?;
                }
                Ok(())
            })
            .await
        })
        .await?;
    Ok((written, read))
}
