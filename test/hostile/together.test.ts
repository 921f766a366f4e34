/** Inputs that are played together, and alone after a failure. */
import { describe, expect, it } from '@jest/globals';
import { groupsOf, playTogether } from './together.ts';

const INPUTS = ['a', 'b', 'c'].map((name) => ({ name }));

/** Plays the inputs. `isBad` decides by the names of inputs that are played at the same time. */
async function played(isBad: (names: string) => boolean) {
  const plays: string[] = [];
  let restarts = 0;
  const restart = async (): Promise<void> => {
    restarts += 1;
  };
  const result = playTogether({ restart }, INPUTS, async (together) => {
    const names = together.map(({ name }) => name).join('');
    plays.push(names);
    if (isBad(names)) throw new Error(`no node with ${names}`);
  });
  const error = await result.then(
    () => undefined,
    ({ message }: Error) => message,
  );
  return { plays, restarts, error };
}

describe('playTogether', () => {
  it('plays all inputs once if they succeed', async () => {
    expect(await played(() => false)).toEqual({ plays: ['abc'], restarts: 0, error: undefined });
  });

  it('names the input that fails alone, and restarts the operator after each failure', async () => {
    expect(await played((names) => names.includes('b'))).toEqual({
      plays: ['abc', 'a', 'b'],
      restarts: 2,
      error: 'b: no node with b',
    });
  });

  it('fails if inputs fail only together', async () => {
    expect(await played((names) => names.length > 1)).toEqual({
      plays: ['abc', 'a', 'b', 'c'],
      restarts: 1,
      error: 'no node with abc',
    });
  });
});

describe('groupsOf', () => {
  it('returns every input in one group', () => {
    expect(groupsOf(INPUTS, 2)).toEqual([
      { names: 'a, b', inputs: INPUTS.slice(0, 2) },
      { names: 'c', inputs: INPUTS.slice(2) },
    ]);
  });
});
