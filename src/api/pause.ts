/** Pause of the operator: a ConfigMap in the namespace of the operator. The format of the data is public. */
import { timeOf, timestamp } from '#lib';
import type { ConfigMap } from './kubernetes.ts';

export const PAUSE_NAME = 'karpenter-pause';

/** Kinds of work that a pause stops, in the order of texts. */
export const PAUSED_PARTS = ['launches', 'disruption'] as const;
export type PausedPart = (typeof PAUSED_PARTS)[number];
/** Values of `data.scope`. */
export const PAUSE_SCOPES = [...PAUSED_PARTS, 'all'] as const;
export type PauseScope = (typeof PAUSE_SCOPES)[number];

/** End of a pause without an end. */
export const NEVER_MS = Date.parse('9999-12-31T23:59:59Z');

export interface Pause {
  readonly scope: PauseScope;
  readonly reason: string;
  /** End in milliseconds since the epoch. `NEVER_MS` if the ConfigMap has no valid end. */
  readonly untilMs: number;
  /** Invalid fields, with the remedy. Absent for a valid ConfigMap. */
  readonly problem?: string;
}

/** Maximum length of the reason in messages. */
const MOST_REASON = 200;

/** Reads a pause. An invalid ConfigMap pauses everything until it is corrected or deleted, because its author expects a pause. */
export function readPause({ data = {} }: Pick<ConfigMap, 'data'>): Pause {
  const { scope = '', until = '', reason = '' } = data;
  const untilMs = timeOf(until);
  const isScope = (PAUSE_SCOPES as readonly string[]).includes(scope);
  const problems = [
    ...(isScope ? [] : [`data.scope is ${quoted(scope)} and must be one of ${PAUSE_SCOPES.join(', ')}`]),
    ...(Number.isFinite(untilMs)
      ? []
      : [`data.until is ${quoted(until)} and must be a time such as 2026-01-31T18:00:00Z`]),
  ];
  return {
    scope: isScope ? (scope as PauseScope) : 'all',
    reason: clip(reason),
    untilMs: Number.isFinite(untilMs) ? Math.min(untilMs, NEVER_MS) : NEVER_MS,
    ...(problems.length > 0 && { problem: `${problems.join('; ')}; correct the ConfigMap or run karpenter resume` }),
  };
}

/** Returns the data of the ConfigMap. */
export const pauseData = ({ scope, reason, untilMs }: Omit<Pause, 'problem'>): Readonly<Record<string, string>> => ({
  scope,
  reason,
  until: timestamp(untilMs),
});

/** Returns true if the pause stops a kind of work at this time. */
export const pauses = ({ scope, untilMs }: Pause, part: PausedPart, nowMs: number): boolean =>
  nowMs < untilMs && (scope === 'all' || scope === part);

/** Returns a sentence for events, verdicts and views, such as `launches are paused until 2026-01-31T18:00:00Z: upgrade`. */
export function pauseText({ scope, reason, untilMs }: Pause): string {
  const parts = scope === 'all' ? PAUSED_PARTS.join(' and ') : scope;
  const end = untilMs < NEVER_MS ? `until ${timestamp(untilMs)}` : 'until they are resumed';
  return `${parts} ${scope === 'disruption' ? 'is' : 'are'} paused ${end}${reason === '' ? '' : `: ${reason}`}`;
}

const clip = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= MOST_REASON ? line : `${line.slice(0, MOST_REASON - 1)}…`;
};
const quoted = (text: string): string => JSON.stringify(text.slice(0, 50));
