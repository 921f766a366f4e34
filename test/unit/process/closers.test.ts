import { describe, expect, it } from '@jest/globals';
import { Closers } from '../../../src/process/closers.ts';

describe('Closers', () => {
  it('calls the functions in reverse order, each only once', async () => {
    const closed: string[] = [];
    const closers = new Closers();
    for (const name of ['first', 'second']) closers.add(async () => void closed.push(name));
    await closers.close();
    await closers.close();
    expect(closed).toEqual(['second', 'first']);
  });

  it('calls a function immediately if it is added after the close', async () => {
    const closed: string[] = [];
    const closers = new Closers();
    await closers.close();
    closers.add(() => closed.push('late'));
    expect(closed).toEqual(['late']);
  });

  it('closes after work that fails, and throws the error of the work', async () => {
    const closed: string[] = [];
    const closers = new Closers();
    closers.add(() => closed.push('one'));
    const work = Promise.reject(new Error('it fails'));
    await expect(closers.closeAfter(work, () => undefined)).rejects.toThrow('it fails');
    expect(closed).toEqual(['one']);
  });

  it('does not wait longer than the limit for a function that does not return', async () => {
    const closers = new Closers();
    closers.add(() => new Promise(() => undefined));
    const limited: string[] = [];
    const end = await closers.closeAfter(Promise.resolve('lost'), async (how) => void limited.push(how));
    expect([end, limited]).toEqual(['lost', ['lost']]);
  });
});
