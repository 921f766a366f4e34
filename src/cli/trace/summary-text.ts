/** Renders the summary of a trace as text. */
import { formatDuration } from '../../api/duration.ts';
import type { TraceSummary } from '../../replay/trace/summary.ts';
import { counted, table } from '../render/table.ts';

const DAY_MS = 86_400_000;

/** Formats a duration: `7d`, `1d12h0m0s`. */
function lasting(seconds: number): string {
  const days = Math.floor((seconds * 1000) / DAY_MS);
  const rest = seconds * 1000 - days * DAY_MS;
  return `${days === 0 ? '' : `${days}d`}${rest === 0 && days > 0 ? '' : formatDuration(rest)}`;
}

export function traceSummaryText(summary: TraceSummary): string {
  const { name, start, seconds, source, events, objects, podStarts, warnings } = summary;
  const amounts = [
    ['pods', summary.pods],
    ['CPU, cores', summary.cpu],
    ['memory, GiB', summary.memoryGib],
    ...(summary.gpus.most === 0 ? [] : [['GPUs', summary.gpus] as const]),
  ] as const;
  const kinds = Object.entries(objects).map(([kind, count]) => counted(count, kind));
  return `${[
    `${name}: ${lasting(seconds)} from ${start}${source === undefined ? '' : ` (${source})`}`,
    `${counted(events, 'event')}; ${kinds.join(', ')}`,
    `${counted(podStarts, 'pod')} started, not counting pods of DaemonSets`,
    '',
    table(
      ['RUNNING', 'AVERAGE', 'AT MOST'],
      amounts.map(([what, { average, most }]) => [what, `${average}`, `${most}`]),
    ),
    ...warnings.map((warning) => `warning: ${warning}`),
  ].join('\n')}\n`;
}
