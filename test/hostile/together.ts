/**
 * Inputs that do not affect each other are played before one healthy pod, because the node of this pod uses more CPU
 * time than most inputs.
 */

import type { HostileWorld } from './hostile-world.ts';

interface Named {
  readonly name: string;
}

/** Inputs of one test. */
export interface Group<T extends Named> {
  /** Names of the inputs. */
  readonly names: string;
  readonly inputs: readonly T[];
}

/** Returns groups of consecutive inputs. */
export function groupsOf<T extends Named>(inputs: readonly T[], size: number): readonly Group<T>[] {
  const count = Math.ceil(inputs.length / size);
  return Array.from({ length: count }, (_, group) => {
    const together = inputs.slice(group * size, (group + 1) * size);
    return { names: together.map(({ name }) => name).join(', '), inputs: together };
  });
}

/**
 * Plays inputs together, and restarts the operator after a failure. Then plays each input alone, so that the error names
 * the input.
 *
 * @throws Error of the first input that fails alone, or else of the whole group
 */
export async function playTogether<T extends Named>(
  hostile: Pick<HostileWorld, 'restart'>,
  inputs: readonly T[],
  play: (inputs: readonly T[]) => Promise<void>,
): Promise<void> {
  try {
    await play(inputs);
  } catch (error) {
    await hostile.restart();
    if (inputs.length === 1) throw error;
    for (const input of inputs)
      await playTogether(hostile, [input], play).catch((cause: unknown) => {
        throw new Error(`${input.name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
      });
    throw error;
  }
}
