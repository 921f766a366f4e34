/** Repair of unhealthy nodes: the condition that counts, and obstacles. */
import { describe, expect, it } from '@jest/globals';
import type { Condition, Node } from '#api/objects';
import { ailmentOf, healthObstacle, type RepairRule, repairsIn, repairText, surveyHealth } from '#engine/disruption';

const NOW = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString().replace('.000', '');

interface Sick {
  readonly zone?: string;
  readonly pool?: string;
  /** Start of the fault. Absent for a healthy node. */
  readonly since?: number;
  readonly reason?: string;
  readonly type?: string;
  readonly annotations?: Record<string, string>;
}

let count = 0;
const node = ({
  zone = 'zone-a',
  pool = 'default',
  since,
  reason = 'Fault',
  type = 'Ready',
  annotations,
}: Sick = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: `node-${++count}`,
    labels: { 'topology.kubernetes.io/zone': zone, 'karpenter.sh/nodepool': pool },
    ...(annotations && { annotations }),
  },
  status: {
    conditions: [
      { type, reason, status: since === undefined ? 'True' : 'False', lastTransitionTime: at(since ?? 0) },
    ] satisfies Condition[],
  },
});
const nodes = (amount: number, sick: Sick = {}): Node[] => Array.from({ length: amount }, () => node(sick));
const rule = (tolerationMinutes: number, more: Partial<RepairRule> = {}): RepairRule => ({
  conditionType: 'Ready',
  conditionStatus: 'False',
  tolerationMs: tolerationMinutes * MINUTE,
  ...more,
});
const RULES = [rule(30)];
const survey = (...all: readonly Node[]) => surveyHealth(all, () => RULES);
const obstacleOf = (one: Node, ...others: readonly Node[]) => healthObstacle(one, 'default', survey(one, ...others));

describe('ailmentOf', () => {
  const two = (ready: number, gpu: number): Node => ({
    ...node(),
    status: {
      conditions: [
        { type: 'Ready', status: 'False', lastTransitionTime: at(ready) },
        { type: 'AcceleratedHardwareReady', status: 'False', lastTransitionTime: at(gpu) },
      ],
    },
  });

  it('returns the condition that is due first', () => {
    const rules = [...RULES, rule(10, { conditionType: 'AcceleratedHardwareReady' })];
    expect(ailmentOf(two(-16 * MINUTE, 0), rules)).toMatchObject({
      condition: { type: 'AcceleratedHardwareReady' },
      dueMs: NOW + 10 * MINUTE,
    });
    expect(ailmentOf(two(-25 * MINUTE, 0), rules)).toMatchObject({
      condition: { type: 'Ready' },
      dueMs: NOW + 5 * MINUTE,
    });
  });

  it('ignores a status without a rule', () => {
    expect(ailmentOf(node(), RULES)).toBeUndefined();
  });

  it.each([
    { reason: 'NvidiaXID48Error', reasons: ['NvidiaXID48Error'], minutes: 1 },
    { reason: 'NvidiaXID48Error', reasons: ['NvidiaXID*'], minutes: 1 },
    { reason: 'NvidiaXID48Error', reasons: ['*'], minutes: 1 },
    { reason: 'NvidiaXID48Error', reasons: ['NvidiaXID'], minutes: 30 },
    { reason: 'Other', reasons: ['NvidiaXID*'], minutes: 30 },
  ])('gives $minutes minutes to the reason $reason with a rule for $reasons', ({ reason, reasons, minutes }) => {
    const found = ailmentOf(node({ since: 0, reason }), [...RULES, rule(1, { reasons })]);
    expect(found?.dueMs).toBe(NOW + minutes * MINUTE);
  });

  it('does not fall back to the rule for every reason during the toleration of a rule that names the reason', () => {
    const found = ailmentOf(node({ since: 0, reason: 'Slow' }), [...RULES, rule(60, { reasons: ['Slow'] })]);
    expect(found?.dueMs).toBe(NOW + 60 * MINUTE);
  });

  it('ignores a reason with the action None', () => {
    const rules = [...RULES, rule(1, { reasons: ['Harmless'], action: 'None' })];
    expect(ailmentOf(node({ since: 0, reason: 'Harmless' }), rules)).toBeUndefined();
    expect(ailmentOf(node({ since: 0 }), rules)).toBeDefined();
  });
});

describe('the share of unhealthy nodes', () => {
  it.each([
    { broken: 1, of: 3, blocked: false },
    { broken: 2, of: 3, blocked: true },
    { broken: 1, of: 1, blocked: false },
    { broken: 2, of: 10, blocked: false },
    { broken: 3, of: 10, blocked: true },
  ])('blocks a repair with $broken of $of unhealthy nodes: $blocked', ({ broken, of, blocked }) => {
    // the faults are hours apart
    const sick = Array.from({ length: broken }, (_, index) => node({ since: -index * 60 * MINUTE }));
    const [one = node(), ...others] = [...sick, ...nodes(of - broken)];
    expect(obstacleOf(one, ...others)?.code).toBe(blocked ? 'many-unhealthy' : undefined);
  });

  it('counts the nodes of the NodePool', () => {
    const [one = node(), ...rest] = [...nodes(2, { since: 0 }), ...nodes(1)];
    expect(obstacleOf(one, ...rest, ...nodes(50, { pool: 'other' }))?.code).toBe('many-unhealthy');
    expect(healthObstacle(one, '', survey(one, ...rest, ...nodes(50, { pool: 'other' })))).toBeUndefined();
  });
});

describe('a fault that comes with others', () => {
  /** 100 nodes in three zones, of which 25 in zone-a fail within one minute. */
  const burst = Array.from({ length: 25 }, (_, index) => node({ since: index * 2_000 }));
  const healthy = [...nodes(9), ...nodes(33, { zone: 'zone-b' }), ...nodes(32, { zone: 'zone-c' })];

  it('blocks repairs in its zone, and names it', () => {
    expect(obstacleOf(burst[3] ?? node(), ...burst.toSpliced(3, 1), ...healthy)).toEqual({
      code: 'many-unhealthy',
      text: `more than 20% nodes are unhealthy in the nodepool: 25 of 34 nodes in zone zone-a became unhealthy between ${at(0)} and ${at(48_000)}`,
    });
    const others = nodes(200, { zone: 'zone-b' });
    expect(obstacleOf(burst[3] ?? node(), ...burst.toSpliced(3, 1), ...healthy, ...others)?.code).toBe('zone-outage');
  });

  it('does not block the repair of a fault in another zone', () => {
    const fault = node({ zone: 'zone-b', since: -40 * MINUTE });
    expect(obstacleOf(fault, ...burst, ...healthy)).toBeUndefined();
  });

  it('blocks repairs in the NodePool if the faults are in all zones', () => {
    const all = ['zone-a', 'zone-b', 'zone-c'].flatMap((zone) => [
      ...nodes(10, { zone, since: 0 }),
      ...nodes(23, { zone }),
    ]);
    const codes = all.map((one) => healthObstacle(one, 'default', survey(...all))?.code);
    expect(new Set(codes)).toEqual(new Set(['many-unhealthy']));
  });

  it('needs two others at least, within ten minutes of each other', () => {
    const others = [...nodes(2), ...nodes(30, { zone: 'zone-b' })];
    const two = nodes(2, { since: 0 });
    expect(obstacleOf(two[0] ?? node(), ...two.slice(1), ...others)).toBeUndefined();
    const apart = [0, 11, 22].map((minutes) => node({ since: minutes * MINUTE }));
    expect(obstacleOf(apart[0] ?? node(), ...apart.slice(1), ...others)).toBeUndefined();
    const near = [0, 9, 18].map((minutes) => node({ since: minutes * MINUTE }));
    expect(obstacleOf(near[0] ?? node(), ...near.slice(1), ...others)?.code).toBe('zone-outage');
  });

  it('never blocks more than the zone and its NodePools, whatever the number of nodes', () => {
    for (const scale of [1, 2, 5]) {
      const zone = [...nodes(6 * scale, { since: 0 }), ...nodes(4 * scale)];
      const elsewhere = node({ zone: 'zone-b', since: 0 });
      const all = [...zone, elsewhere, ...nodes(9 * scale, { zone: 'zone-b' })];
      expect(healthObstacle(elsewhere, 'default', survey(...all))).toBeUndefined();
      expect(healthObstacle(zone[0] ?? node(), 'default', survey(...all))).toBeDefined();
    }
  });
});

describe('the annotation do-not-repair', () => {
  it.each([
    { value: 'true', code: 'vetoed' },
    { value: 'false', code: undefined },
    { value: '', code: undefined },
  ])('with the value "$value" results in $code', ({ value, code }) => {
    const vetoed = node({ since: 0, annotations: { 'karpenter.sh/do-not-repair': value } });
    expect(obstacleOf(vetoed, ...nodes(9))?.code).toBe(code);
  });
});

describe('the description of a repair', () => {
  it('names the action, its time and the condition', () => {
    const sick = node({ since: 0 });
    const repairs = repairsIn(survey(sick, ...nodes(9)), () => ({ obstacle: undefined }));
    expect([...repairs]).toEqual([
      [
        sick.metadata.name,
        { action: 'Replace', condition: 'Ready=False', reason: 'Fault', since: at(0), due: at(30 * MINUTE) },
      ],
    ]);
    expect([...repairs.values()].map(repairText)).toEqual([
      `replaced from ${at(30 * MINUTE)}, because Ready=False (Fault) since ${at(0)}`,
    ]);
  });

  it('names the obstacle', () => {
    const all = [node({ since: 0 }), node({ since: 0 }), node()];
    const health = survey(...all);
    const judge = (one: Node) => ({ obstacle: healthObstacle(one, 'default', health) });
    const [repair] = repairsIn(health, judge).values();
    expect(repair && repairText(repair)).toBe(
      `not replaced yet: more than 20% nodes are unhealthy in the nodepool; Ready=False (Fault) since ${at(0)}`,
    );
  });

  it('leaves out nodes that are not managed', () => {
    expect(repairsIn(survey(node({ since: 0 }), ...nodes(9)), () => undefined).size).toBe(0);
  });
});
