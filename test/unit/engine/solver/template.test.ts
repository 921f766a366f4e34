/** Conditions for reuse of compiled NodePools. */
import { describe, expect, it } from '@jest/globals';
import { LeftOuts } from '../../../../src/engine/left-out.ts';
import type { InstanceType, Snapshot } from '../../../../src/engine/model.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { daemonsOf } from '../../../../src/engine/solver/daemons.ts';
import { Dimensions } from '../../../../src/engine/solver/dimensions.ts';
import { compileTemplates, type TemplateOptions } from '../../../../src/engine/solver/template.ts';
import { Volumes } from '../../../../src/engine/volumes.ts';
import { daemon, instanceType, nodePool, OPTIONS, type PoolParts, pod, snapshot } from '../build.ts';

const DIMENSIONS = new Dimensions([{ cpu: 1, memory: 1, pods: 1 }]);
/** Maximum number of snapshots per compiled form. */
const MOST_USES = 200;

const typesOf = (): readonly InstanceType[] => [instanceType('small', { cpu: 2 }), instanceType('large', { cpu: 8 })];

interface Asked extends Partial<Pick<TemplateOptions, 'strictMinValues' | 'sellsReserved'>> {
  readonly pool?: PoolParts;
  readonly agent?: string;
  readonly fee?: number;
}

function compiled(types: readonly InstanceType[], asked: Asked = {}) {
  const { pool, agent = '500m', fee = 0, ...options } = asked;
  const leftOuts = new LeftOuts();
  const nodePools = [nodePool('default', pool)];
  const extras = { feeUsdPerHour: fee, volumesUsdPerHour: 0, publicIpv4UsdPerHour: 0 };
  const pools = nodePools.map((each) => ({ nodePool: each, instanceTypes: types, extras }));
  const base: Snapshot = { ...snapshot(), pools };
  const daemons = daemonsOf([daemon('agent', { cpu: agent })], {
    ignoreDevices: true,
    leftOuts,
    volumes: new Volumes(base),
  });
  const { templates } = compileTemplates(base, {
    ...{ dimensions: DIMENSIONS, daemons, strictMinValues: true, sellsReserved: true, leftOuts },
    ...options,
  });
  return { template: templates[0], nodePool: nodePools[0], leftOuts };
}

describe('compileTemplates', () => {
  it('reuses the form of equal NodePools and DaemonSets, and returns the current NodePool', () => {
    const types = typesOf();
    const [first, second] = [compiled(types), compiled(types)];
    expect(second.template?.choices).toBe(first.template?.choices);
    expect(second.template?.pool).toBe(second.nodePool);
  });

  it.each<[string, Asked]>([
    ['requirements', { pool: { requirements: [{ key: 'team', operator: 'In', values: ['a'] }] } }],
    ['limits', { pool: { limits: { cpu: '4' } } }],
    ['a taint', { pool: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } }],
    ['a DaemonSet that requests more', { agent: '600m' }],
    ['a fee per node', { fee: 0.01 }],
    ['minValues under BestEffort', { strictMinValues: false }],
    ['unavailable reservations', { sellsReserved: false }],
  ])('compiles again for %s', (_, asked) => {
    const types = typesOf();
    const first = compiled(types);
    expect(compiled(types, asked).template?.choices).not.toBe(first.template?.choices);
  });

  it('compiles again for another list of types', () => {
    const types = typesOf();
    expect(compiled([...types]).template?.choices).not.toBe(compiled(types).template?.choices);
  });

  it('reports invalid NodePools each time', () => {
    const types = typesOf();
    const broken: Asked = { pool: { limits: { cpu: '1e1.5' } } };
    for (let time = 0; time < 2; time += 1)
      expect(compiled(types, broken).leftOuts.all).toMatchObject([{ kind: 'NodePool', name: 'default' }]);
  });

  it('compiles again before a form caches too much', () => {
    const types = typesOf();
    const { template } = compiled(types);
    for (let use = 1; use < MOST_USES; use += 1) expect(compiled(types).template?.choices).toBe(template?.choices);
    expect(compiled(types).template?.choices).not.toBe(template?.choices);
  });

  it('does not change plans', () => {
    const types = typesOf();
    const planFor = (cpu: string, of: readonly InstanceType[]) =>
      solve(snapshot({ types: of, pendingPods: [pod('p', { cpu })] }), OPTIONS).claims;
    for (const cpu of ['1', '6', '1', '3']) expect(planFor(cpu, types)).toEqual(planFor(cpu, typesOf()));
  });
});
