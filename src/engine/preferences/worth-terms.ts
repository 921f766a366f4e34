/** Worth of preferences as a part of the price of their pods. */
import { PREFERENCE_WORTH_ANNOTATION } from '#api/objects';
import { shareOf } from '#api/values';
import type { EnginePod } from '../input.ts';
import { podKey } from '../pods.ts';

/** Worth of a preference with weight 100, and the largest worth that workloads may set, as parts of the price of the pod. */
export interface PreferenceTerms {
  readonly worth: number;
  readonly most: number;
}

export const DEFAULT_PREFERENCE_TERMS: PreferenceTerms = { worth: 0.1, most: 1 };

/** Returns the worth of a preference of the pod with weight 100, as a part of the price of the pod. */
export function preferenceWorth(
  { metadata }: Pick<EnginePod, 'metadata'>,
  { preferences = DEFAULT_PREFERENCE_TERMS }: { readonly preferences?: PreferenceTerms },
): number {
  const own = shareOf(metadata.annotations?.[PREFERENCE_WORTH_ANNOTATION]);
  return own === undefined ? preferences.worth : Math.min(own, preferences.most);
}

/** Returns the error in the worth that a pod sets. Returns undefined if it is valid or absent. */
export function invalidWorth(pod: EnginePod): string | undefined {
  const value = pod.metadata.annotations?.[PREFERENCE_WORTH_ANNOTATION];
  if (value === undefined || shareOf(value) !== undefined) return undefined;
  return (
    `pod ${podKey(pod)}: annotation ${PREFERENCE_WORTH_ANNOTATION} ${JSON.stringify(cut(value))} has no effect, ` +
    'use a share of the price of the pod such as "25%"'
  );
}

/** Maximum length of a value in a message. */
const SHOWN = 50;

const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
