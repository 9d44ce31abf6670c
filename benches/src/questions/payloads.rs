//! What does it cost to keep a payload as JSONB and not as bytes, on Postgres?
//! Not why it must be bytes all the same: JSONB keeps neither the order of keys nor the spelling of numbers.

use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::{
    figure::{Report, Spread, Unit, timed},
    workload::{connect, server},
};

const QUESTION: &str = "payloads";
const STATEMENTS: u64 = 100;
const ROWS: usize = 64;

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading(
        "Payloads of Postgres as bytes; the peer keeps them as JSONB. Rows a second, 64 a statement.",
    );
    if server().is_none() {
        return Ok(());
    }
    let mut connection = connect().await?;
    for size in [200, 2_000] {
        let bytes = inserts(report, &mut connection, "bytea", size).await?;
        let jsonb = inserts(report, &mut connection, "jsonb", size).await?;
        let unit = Unit::PerSecond(STATEMENTS * ROWS as u64);
        report.print(QUESTION, &format!("{size} bytes, written"), unit, bytes.0, Some(("jsonb", jsonb.0)));
        report.print(QUESTION, &format!("{size} bytes, read"), unit, bytes.1, Some(("jsonb", jsonb.1)));
        report.print_count(QUESTION, &format!("{size} bytes, a row as bytea"), bytes.2, "bytes");
        report.print_count(QUESTION, &format!("{size} bytes, a row as jsonb"), jsonb.2, "bytes");
    }
    Ok(())
}

/// How fast they are written and read, and how much room a row takes.
async fn inserts(
    report: &mut Report,
    connection: &mut PgConnection,
    kept_as: &'static str,
    size: usize,
) -> loom::Result<(Spread, Spread, f64)> {
    let table = format!("payloads_{kept_as}_{size}");
    let create = format!("CREATE TABLE {table} (id bigserial PRIMARY KEY, payload {kept_as} NOT NULL)");
    sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut *connection).await?;
    let field = |n: usize| format!(r#""field_{n}":"value {n}""#);
    let mut fields: Vec<String> = Vec::new();
    while fields.iter().map(|field| field.len() + 1).sum::<usize>() < size {
        fields.push(field(fields.len()));
    }
    let payload = format!("{{{}}}", fields.join(","));
    let payloads = vec![payload.into_bytes(); ROWS];
    let of_bytes = if kept_as == "bytea" { "p" } else { "convert_from(p, 'UTF8')::jsonb" };
    let insert = format!("INSERT INTO {table} (payload) SELECT {of_bytes} FROM unnest($1::bytea[]) AS p");
    let unit = Unit::PerSecond(STATEMENTS * ROWS as u64);
    let written = report
        .time(unit, async || {
            timed(async {
                for _ in 0..STATEMENTS {
                    let query = sqlx::query(AssertSqlSafe(insert.clone())).bind(&payloads);
                    query.execute(&mut *connection).await?;
                }
                Ok(())
            })
            .await
        })
        .await?;
    let to_bytes = if kept_as == "bytea" { "payload" } else { "convert_to(payload::text, 'UTF8')" };
    let select = format!("SELECT {to_bytes} FROM {table} LIMIT {}", STATEMENTS * ROWS as u64);
    let read = report
        .time(unit, async || {
            timed(async {
                sqlx::query(AssertSqlSafe(select.clone())).fetch_all(&mut *connection).await?;
                Ok(())
            })
            .await
        })
        .await?;
    let room = format!("SELECT pg_table_size('{table}')::float8 / count(*) FROM {table}");
    let room = sqlx::query(AssertSqlSafe(room)).fetch_one(&mut *connection).await?.try_get(0)?;
    Ok((written, read, room))
}
