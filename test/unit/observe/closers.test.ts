import { describe, expect, it } from '@jest/globals';
import { Closers } from '../../../src/observe/closers.ts';

describe('closers', () => {
  it('close in reverse order, each once', async () => {
    const closed: string[] = [];
    const closers = new Closers();
    for (const name of ['first', 'second']) closers.add(async () => void closed.push(name));
    await closers.close();
    await closers.close();
    expect(closed).toEqual(['second', 'first']);
  });

  it('close what is opened too late', async () => {
    const closed: string[] = [];
    const closers = new Closers();
    await closers.close();
    closers.add(() => closed.push('late'));
    expect(closed).toEqual(['late']);
  });
});
