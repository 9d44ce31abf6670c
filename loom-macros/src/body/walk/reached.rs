//! How the traversal treats the paths that may reach for the world outside. Which those are, `body/banned.rs` says.

use syn::{Expr, ExprPath};

use crate::body::banned::{self, Verdict};
use crate::body::{Finding, rewrite};
use crate::codes;

use super::Walker;

impl Walker<'_> {
    /// Notes a path that reaches outside, as it is written or as it was imported; one that may do so comes back as the
    /// question to the compiler.
    pub(super) fn reached(&mut self, expr: &ExprPath) -> Option<Expr> {
        let path = &expr.path;
        let awaited = std::mem::take(&mut self.awaits_head);
        if self.recorded > 0 || path.get_ident().is_some_and(|name| self.scope.binds(name)) {
            return None;
        }
        let imported = self.imports.whole(path);
        let whole = imported.as_ref().unwrap_or(path);
        let own = self.imports.declares(path) || banned::is_own(path);
        match banned::judge(whole, imported.is_some(), own)? {
            // Files and sockets that are awaited are those of an async runtime, which has its own functions.
            Verdict::Asked { ban, .. } if awaited && !own && ban.code == codes::OUTSIDE_WORLD => {
                self.findings.push(Finding::Banned { path: path.clone(), imported, ban, may_be_own: true });
                None
            }
            Verdict::Asked { ban, functions, .. } => {
                let asked = rewrite::unless_banned(expr, ban.asks, functions, self.runtime);
                self.asks = true;
                // Generic parameters are known by the use alone, and the body's own names in the body alone.
                if self.imports.count() == 0 && functions.iter().all(|function| !function.contains('<')) {
                    self.asked.push(asked.clone());
                }
                Some(asked)
            }
            Verdict::Refused { ban, may_be_own } => {
                let path = path.clone();
                self.findings.push(Finding::Banned { path, imported, ban, may_be_own });
                None
            }
        }
    }
}
