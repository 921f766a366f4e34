/** Heights of the panes of `karpenter top`. */

/** Lines of a pane besides its rows: a blank line and the heading. */
export const PANE_HEAD = 2;
const MOST_ROWS = 6;

export interface PaneRows {
  readonly nodes: number;
  readonly pending: number;
  readonly decisions: number;
}

/**
 * Shares the height among the rows of the panes. Nodes have at least half of it if they need it; pending pods come before
 * decisions. Without a height, every node has a row.
 */
export function paneRows(wanted: PaneRows, height: number | undefined): PaneRows {
  const most = (rows: number): number => Math.min(rows, MOST_ROWS);
  if (height === undefined)
    return { nodes: wanted.nodes, pending: most(wanted.pending), decisions: most(wanted.decisions) };
  const forNodes = Math.min(wanted.nodes, Math.ceil(height / 2));
  let left = height - forNodes;
  const take = (rows: number, others: number): number => {
    const taken = Math.min(most(rows), Math.max(0, left - PANE_HEAD - others));
    if (taken > 0) left -= taken + PANE_HEAD;
    return taken;
  };
  const pending = take(wanted.pending, wanted.decisions > 0 && left >= 2 * PANE_HEAD + 2 ? PANE_HEAD + 1 : 0);
  const decisions = take(wanted.decisions, 0);
  return { nodes: Math.max(1, forNodes + left), pending, decisions };
}
