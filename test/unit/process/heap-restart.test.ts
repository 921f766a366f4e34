import { describe, expect, it } from '@jest/globals';
import { heapOptions } from '../../../src/process/heap-restart.ts';
import type { MemoryLimit } from '../../../src/process/memory-budget.ts';

const MIB = 2 ** 20;
const IMAGE = ['--max-old-space-size-percentage=26', '--max-semi-space-size=4'];

const container = (mib: number): MemoryLimit => ({ bytes: mib * MIB, source: 'the container' });

describe('heapOptions', () => {
  it.each([
    { when: 'the share of the image is right', limit: 1_024, heap: 278, options: IMAGE, is: undefined },
    {
      when: 'the limit is low',
      limit: 256,
      heap: 78,
      options: ['--inspect', ...IMAGE],
      is: ['--inspect', '--max-old-space-size=100', '--max-semi-space-size=4'],
    },
    {
      when: 'V8 has derived the heap from the machine',
      limit: 1_024,
      heap: 4_288,
      options: [],
      is: ['--max-old-space-size=266', '--max-semi-space-size=4'],
    },
    { when: 'a size is set', limit: 256, heap: 212, options: ['--max-old-space-size=200'], is: undefined },
    {
      when: 'a size is set with underscores',
      limit: 256,
      heap: 212,
      options: ['--max_old_space_size=200'],
      is: undefined,
    },
  ])('returns $is if $when', ({ limit, heap, options, is }) => {
    expect(heapOptions({ limit: container(limit), heapBytes: heap * MIB, options, nodeOptions: '' })).toEqual(is);
  });

  it('returns undefined if the environment sets a size, or if the memory of the machine is the limit', () => {
    const heap = { heapBytes: 78 * MIB, options: IMAGE };
    const nodeOptions = '--enable-source-maps --max-old-space-size=66';
    expect(heapOptions({ ...heap, limit: container(256), nodeOptions })).toBeUndefined();
    const limit: MemoryLimit = { bytes: 256 * MIB, source: 'the machine' };
    expect(heapOptions({ ...heap, limit, nodeOptions: '' })).toBeUndefined();
  });

  it('returns options that are right for the next start', () => {
    const options = heapOptions({ limit: container(256), heapBytes: 78 * MIB, options: IMAGE, nodeOptions: '' }) ?? [];
    expect(heapOptions({ limit: container(256), heapBytes: 112 * MIB, options, nodeOptions: '' })).toBeUndefined();
  });
});
