/** Notes about a trace that was created from observations. */
import { counted } from '../render/table.ts';
import type { AuditHistory } from './history.ts';

const MOST = 20;

export function historyNotes(history: AuditHistory): readonly string[] {
  const missed = [...history.leftOut].sort(([, a], [, b]) => b - a);
  return [
    counted(history.events, 'event'),
    ...(history.isFull
      ? ['the trace ends early because it reached the limit; increase --limit, or select namespaces with -n']
      : []),
    ...missed.slice(0, MOST).map(([reason, count]) => `skipped ${counted(count, 'time')}: ${reason}`),
    ...(missed.length > MOST ? [`skipped for ${missed.length - MOST} more reasons`] : []),
  ];
}
