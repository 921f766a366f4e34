/** Notes about a trace that was created from observations. */
import { counted } from '../render/table.ts';
import type { AuditHistory } from './history.ts';

const MOST = 20;

export function historyNotes(history: AuditHistory): readonly string[] {
  const missed = [...history.leftOut].sort(([, a], [, b]) => b - a);
  return [
    counted(history.events, 'event'),
    ...(history.isFull
      ? ['the limit is reached: the trace ends there; raise --limit, or name namespaces with -n']
      : []),
    ...missed.slice(0, MOST).map(([reason, count]) => `left out ${counted(count, 'time')}: ${reason}`),
    ...(missed.length > MOST ? [`left out for ${missed.length - MOST} more reasons`] : []),
  ];
}
