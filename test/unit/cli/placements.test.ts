/** Scenarios in which every pod gets a node. */
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { simulate } from '../../../src/cli/simulate.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures', 'placements');

describe('simulate', () => {
  it.each([
    { file: 'zone-that-nothing-offers.yaml', pods: 6 },
    { file: 'preferences-and-alternatives.yaml', pods: 2 },
    { file: 'affinity-to-pod-with-volume.yaml', pods: 2 },
    { file: 'affinity-to-daemonset.yaml', pods: 1 },
  ])('places all pods of $file', async ({ file, pods }) => {
    const filename = ['ec2nodeclass.yaml', file].map((name) => join(FIXTURES, name));
    for (const packing of ['cheapest', 'compatible'] as const) {
      const { simulation } = await simulate({ filename, nowMs: 0, packing });
      expect(simulation.unschedulable).toEqual({});
      expect(simulation.nodeClaims.flatMap((claim) => claim.pods)).toHaveLength(pods);
    }
  });
});
