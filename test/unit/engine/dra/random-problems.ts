/** Small random allocation problems on one node. */
import fc from 'fast-check';
import type { Device, DeviceConstraint, DeviceRequest, ResourceClaim } from '#api/objects';
import { claim, DRIVER, details } from './build.ts';

export interface Problem {
  readonly devices: readonly Device[];
  readonly counters: number;
  readonly claims: readonly ResourceClaim[];
}

const device = fc.record({
  root: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
  model: fc.integer({ min: 0, max: 1 }),
  shares: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  counter: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  isTainted: fc.integer({ min: 0, max: 4 }).map((number) => number === 0),
});

const exact = fc.record({
  model: fc.option(fc.integer({ min: 0, max: 1 }), { nil: undefined }),
  count: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 4 }),
  shares: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
  tolerates: fc.boolean(),
});
export type Exact = typeof exact extends fc.Arbitrary<infer T> ? T : never;

export const requestDetails = ({ model, count, shares, tolerates }: Exact) =>
  details({
    ...(model !== undefined && {
      selectors: [{ cel: { expression: `device.attributes['${DRIVER}'].model == ${model}` } }],
    }),
    ...(count === undefined ? { allocationMode: 'All' } : { count }),
    ...(shares !== undefined && { capacity: { requests: { shares } } }),
    ...(tolerates && { tolerations: [{ operator: 'Exists' }] }),
  });

const requests = fc.array(fc.array(exact, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }).map((all) =>
  all.map(
    (alternatives, at): DeviceRequest =>
      alternatives.length === 1
        ? { name: `r${at}`, exactly: requestDetails(alternatives[0] as Exact) }
        : {
            name: `r${at}`,
            firstAvailable: alternatives.map((each, index) => ({ ...requestDetails(each), name: `a${index}` })),
          },
  ),
);
const constraint = fc
  .record({
    kind: fc.constantFrom('matchAttribute', 'distinctAttribute'),
    requests: fc.constantFrom(undefined, ['r0'], ['r0', 'r1/a0']),
  })
  .map(
    ({ kind, requests: names }): DeviceConstraint => ({ [kind]: `${DRIVER}/root`, ...(names && { requests: names }) }),
  );

export const problem: fc.Arbitrary<Problem> = fc
  .record({
    devices: fc.array(device, { minLength: 1, maxLength: 5 }),
    counters: fc.integer({ min: 1, max: 6 }),
    claims: fc.array(fc.record({ requests, constraints: fc.array(constraint, { maxLength: 1 }) }), {
      minLength: 1,
      maxLength: 2,
    }),
  })
  .map(({ devices, counters, claims }) => ({
    counters,
    devices: devices.map(({ root, model, shares, counter, isTainted }, index) => ({
      name: `d${index}`,
      attributes: { model: { int: model }, ...(root !== undefined && { root: { int: root } }) },
      ...(shares !== undefined && {
        allowMultipleAllocations: true,
        capacity: { shares: { value: `${shares}`, requestPolicy: { default: '1' } } },
      }),
      ...(counter !== undefined && {
        consumesCounters: [{ counterSet: 's', counters: { c: { value: `${counter}` } } }],
      }),
      ...(isTainted && { taints: [{ key: 'k', effect: 'NoSchedule' }] }),
    })),
    claims: claims.map((each, at) => claim(each.requests, { name: `c${at}`, constraints: each.constraints })),
  }));
