/** Compares the search with one that tries every combination, on small random problems. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Device, DeviceConstraint, DeviceRequest } from '#api/objects';
import { DRIVER, newNode, template, world } from './build.ts';
import { type Exact, type Problem, problem, type requestDetails } from './random-problems.ts';

/** Chosen devices of a request: the alternative, and positions of devices. */
interface Choice {
  readonly claim: number;
  readonly request: string;
  readonly alternative: string;
  readonly parts: Exact;
  readonly devices: readonly number[];
}

const modelOf = (one: Device): number => one.attributes?.model?.int ?? -1;

function partsOf(request: ReturnType<typeof requestDetails>): Exact {
  const [selector] = request.selectors ?? [];
  return {
    model: selector === undefined ? undefined : Number(selector.cel?.expression.at(-1)),
    count: request.allocationMode === 'All' ? undefined : request.count,
    shares: request.capacity?.requests?.shares as number | undefined,
    tolerates: request.tolerations !== undefined,
  };
}

/** Returns all sets of positions. */
function* subsets(size: number, from: number, end: number): Generator<readonly number[]> {
  if (size === 0) yield [];
  else for (let at = from; at < end; at++) for (const rest of subsets(size - 1, at + 1, end)) yield [at, ...rest];
}

function* choicesOf({ devices }: Problem, index: number, request: DeviceRequest): Generator<Choice> {
  const alternatives = request.firstAvailable?.map((each) => ({ name: `${request.name}/${each.name}`, each })) ?? [
    { name: request.name, each: request.exactly as ReturnType<typeof requestDetails> },
  ];
  for (const { name, each } of alternatives) {
    const parts = partsOf(each);
    const base = { claim: index, request: request.name, alternative: name, parts };
    if (parts.count !== undefined)
      for (const chosen of subsets(parts.count, 0, devices.length)) yield { ...base, devices: chosen };
    else {
      const all = devices.flatMap((one, at) => {
        const isSelected = parts.model === undefined || modelOf(one) === parts.model;
        return isSelected && hasStatic(one, parts) ? [at] : [];
      });
      if (all.length > 0) yield { ...base, devices: all };
    }
  }
}

const hasStatic = (one: Device, { shares }: Exact): boolean =>
  shares === undefined || Number(one.capacity?.shares?.value ?? -1) >= shares;

/** Returns the amounts that each device provides, or undefined if a device cannot serve its request. */
function usedAmounts(devices: readonly Device[], choices: readonly Choice[]): readonly number[] | undefined {
  const used = devices.map(() => 0);
  for (const { parts, devices: chosen } of choices)
    for (const at of chosen) {
      const one = devices[at] as Device;
      const isSelected = parts.model === undefined || modelOf(one) === parts.model;
      const isTolerated = one.taints === undefined || parts.tolerates;
      if (!isSelected || !isTolerated || !hasStatic(one, parts)) return undefined;
      used[at] = (used[at] ?? 0) + (one.allowMultipleAllocations ? (parts.shares ?? 1) : 1);
    }
  return used;
}

const satisfies = (
  devices: readonly Device[],
  choices: readonly Choice[],
  { matchAttribute, requests: names }: DeviceConstraint,
) => {
  const roots = choices
    .filter(({ request, alternative }) => !names || names.includes(request) || names.includes(alternative))
    .flatMap((each) => each.devices.map((at) => devices[at]?.attributes?.root?.int));
  const distinct = new Set(roots).size;
  return !roots.includes(undefined) && (matchAttribute === undefined ? distinct === roots.length : distinct <= 1);
};

function isValid({ devices, counters, claims }: Problem, choices: readonly Choice[]): boolean {
  const used = usedAmounts(devices, choices);
  if (used === undefined) return false;
  const valueOfDevice = (one: Device): number =>
    one.allowMultipleAllocations ? Number(one.capacity?.shares?.value) : 1;
  if (devices.some((one, at) => (used[at] ?? 0) > valueOfDevice(one))) return false;
  const consumption = (one: Device): number => Number(one.consumesCounters?.[0]?.counters.c?.value ?? 0);
  const charged = devices.reduce((sum, one, at) => sum + ((used[at] ?? 0) > 0 ? consumption(one) : 0), 0);
  if (charged > counters) return false;
  return claims.every(({ spec }, index) => {
    const own = choices.filter((each) => each.claim === index);
    return (spec?.devices?.constraints ?? []).every((each) => satisfies(devices, own, each));
  });
}

function isPossible(one: Problem): boolean {
  const all = one.claims.flatMap(({ spec }, index) =>
    (spec?.devices?.requests ?? []).map((request) => ({ index, request })),
  );
  const search = (at: number, chosen: readonly Choice[]): boolean => {
    const next = all[at];
    // every rule that a part of the choices violates is violated by all of them
    if (!isValid(one, chosen)) return false;
    if (next === undefined) return true;
    for (const choice of choicesOf(one, next.index, next.request)) if (search(at + 1, [...chosen, choice])) return true;
    return false;
  };
  return search(0, []);
}

/** Returns true if a request for all devices can violate a constraint. kube-scheduler then tries nothing else. */
const mayGiveUp = ({ claims }: Problem): boolean =>
  claims.some(
    ({ spec }) =>
      (spec?.devices?.constraints ?? []).length > 0 &&
      (spec?.devices?.requests ?? []).some(({ exactly, firstAvailable = [] }) =>
        [exactly, ...firstAvailable].some((each) => each?.allocationMode === 'All'),
      ),
  );

/** Returns the devices of a solution in the form of the brute force. */
function solutionOf({ devices, claims, counters }: Problem): readonly Choice[] | undefined {
  const on = newNode({
    t: template([], {
      pools: [
        {
          driver: DRIVER,
          pool: 'gpus',
          devices,
          sharedCounters: [{ name: 's', counters: { c: { value: `${counters}` } } }],
        },
      ],
    }),
  });
  const result = world().allocate(claims, on);
  if ('text' in result) return undefined;
  const own = result.devices.byType.get('t');
  return claims.flatMap(({ spec }, index) =>
    (spec?.devices?.requests ?? []).flatMap((request) => {
      const grants = (own?.claims[index]?.grants ?? []).filter((grant) => grant.request.split('/')[0] === request.name);
      const [, sub] = grants[0]?.request.split('/') ?? [];
      const chosen = request.exactly ?? request.firstAvailable?.find(({ name }) => name === sub);
      if (chosen === undefined) return [];
      const positions = grants.map((grant) => devices.findIndex(({ name }) => name === grant.device.name));
      const alternative = grants[0]?.request ?? request.name;
      return [{ claim: index, request: request.name, alternative, parts: partsOf(chosen), devices: positions }];
    }),
  );
}

describe('the search', () => {
  it('finds valid devices if and only if some combination is valid', () => {
    let possible = 0;
    fc.assert(
      fc.property(problem, (one) => {
        const solution = solutionOf(one);
        if (solution !== undefined || !mayGiveUp(one)) expect(solution !== undefined).toBe(isPossible(one));
        if (solution === undefined) return;
        possible++;
        expect(isValid(one, solution)).toBe(true);
        for (const { parts, devices } of solution)
          if (parts.count !== undefined) expect(devices).toHaveLength(parts.count);
      }),
      { numRuns: 3_000, seed: 35 },
    );
    // both results occur often
    expect(possible).toBeGreaterThan(300);
    expect(possible).toBeLessThan(2_500);
  });
});
