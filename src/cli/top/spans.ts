/** Styled text of `karpenter top`. */
import { humanDuration } from '#lib';

export interface StyledText {
  readonly text: string;
  readonly color?: 'green' | 'yellow' | 'red' | 'cyan' | 'blue' | 'magenta';
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly inverse?: boolean;
}

export type StyledLine = readonly StyledText[];

/** Returns a bar and the percentage. Nearly empty nodes cost as much as full nodes, so they are marked. */
export function bar(share: number, width: number): readonly StyledText[] {
  const filled = Math.round(Math.min(1, share) * width);
  const color = share >= 0.7 ? 'green' : share >= 0.35 ? 'yellow' : 'red';
  return [
    { text: '█'.repeat(filled), color },
    { text: '░'.repeat(width - filled), dim: true },
    { text: ` ${String(Math.round(100 * share)).padStart(3)} %` },
  ];
}

/** Returns a text of at most this width. An ellipsis replaces the rest. */
export const shorten = (value: string, width: number): string =>
  value.length > width ? `${value.slice(0, width - 1)}…` : value;

/** Returns a text with this width, cut if it is longer. */
export const cell = (value: string, width: number, right = false): readonly StyledText[] => {
  const short = shorten(value, width);
  return [{ text: right ? short.padStart(width) : short.padEnd(width) }];
};

/** Returns the time since then as kubectl shows ages, or an empty text if it is unknown. */
export const ageText = (sinceMs: number, nowMs: number): string =>
  sinceMs <= 0 ? '' : humanDuration(Math.max(0, nowMs - sinceMs));

export const firstLine = (message: string): string => message.split('\n')[0] ?? '';
