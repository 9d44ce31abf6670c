//! Tables: columns aligned by what the terminal shows, the last one cut to what is left of the line.
//! Not their contents, and no lines drawn around them: they are to be read, and cut with `awk`.

use super::text::{pad, shorten, width};

/// A table for people.
#[derive(Debug, Default)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table, with a line's width if there is a terminal. Columns without any content are left out.
    pub(crate) fn render(&self, columns: Option<usize>) -> String {
        let used: Vec<_> =
            (0..self.head.len()).filter(|i| self.rows.iter().any(|row| !row[*i].is_empty())).collect();
        let head: Vec<_> = self.head.iter().map(|name| (*name).to_owned()).collect();
        let lines: Vec<_> = std::iter::once(&head).chain(&self.rows).collect();
        let widths: Vec<_> =
            used.iter().map(|i| lines.iter().map(|line| width(&line[*i])).max().unwrap_or(0)).collect();
        let mut text = String::new();
        for line in lines {
            let mut cells = used.iter().zip(&widths).map(|(i, width)| pad(&line[*i], *width));
            let row = cells.by_ref().collect::<Vec<_>>().join("  ");
            let row = row.trim_end();
            text.push_str(&columns.map_or_else(|| row.to_owned(), |columns| shorten(row, columns)));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_width_and_cut_at_the_end() {
        let mut table = Table::new(&["NAME", "EMPTY", "WHAT"]);
        table.row(["茶".into(), String::new(), "a cup of tea".into()]);
        table.row(["coffee".into(), String::new(), "x".into()]);
        assert_eq!(table.render(None), "NAME    WHAT\n茶      a cup of tea\ncoffee  x\n");
        assert_eq!(table.render(Some(12)), "NAME    WHAT\n茶      a c…\ncoffee  x\n");
    }
}
