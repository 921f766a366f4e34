/**
 * Compares the search with the results of kube-scheduler's allocator for 2,500 random problems. test/cluster/device-allocation
 * computed the results.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import type { DeviceClass, ResourceClaim, ResourceSlice } from '#api/objects';
import { existing, world } from './build.ts';

interface Answered {
  readonly slices: readonly ResourceSlice[];
  readonly classes: readonly DeviceClass[];
  readonly claims: readonly ResourceClaim[];
  /** Devices that are in use: driver, pool and name. */
  readonly taken: readonly (readonly [string, string, string])[];
  /** Devices of which other claims consume capacity. */
  readonly shared?: readonly {
    readonly device: readonly [string, string, string];
    readonly capacity: Readonly<Record<string, string>>;
  }[];
  /** `request=device` of all claims, or null if kube-scheduler finds no devices. */
  readonly devices: readonly string[] | null;
}

const text = gunzipSync(readFileSync(join(import.meta.dirname, 'fixtures/kube-scheduler.jsonl.gz'))).toString();
const problems = text
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Answered);

const user = ({ taken, shared = [] }: Answered): ResourceClaim => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: { name: 'taken', namespace: 'other' },
  status: {
    allocation: {
      devices: {
        results: [
          ...taken.map(([driver, pool, device]) => ({ driver, pool, device })),
          ...shared.map(({ device: [driver, pool, device], capacity }, at) => ({
            ...{ driver, pool, device, shareID: `${at}` },
            consumedCapacity: capacity,
          })),
        ],
      },
    },
  },
});

it('finds the devices that kube-scheduler finds', () => {
  const found = problems.map((problem) => {
    const { slices, classes, claims } = problem;
    const placed = world({ slices, classes, claims: [user(problem)] }).place(claims, existing());
    return typeof placed === 'string' ? null : placed.only;
  });
  expect(problems.length).toBe(2_500);
  expect(problems.filter(({ devices }) => devices !== null).length).toBeGreaterThan(250);
  expect(found).toEqual(problems.map(({ devices }) => devices));
});
