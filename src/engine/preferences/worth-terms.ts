/** Worth of preferences as a part of the price of their pods. */
import { PREFERENCE_WORTH_ANNOTATION } from '#api/objects';
import { shareOf } from '#api/values';
import type { EnginePod } from '../input.ts';

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
