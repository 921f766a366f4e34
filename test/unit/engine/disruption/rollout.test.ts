/** Laws of rollouts on random clusters. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Condition, type Node, type NodeClaim, type NodePool, type Pod, rolloutTimes } from '#api/objects';
import {
  type RolloutNode,
  type RolloutRecord,
  readRollout,
  rolloutOf,
  startOfRollout,
  withRollout,
} from '#engine/disruption';
import { partial } from '../../../support/partial.ts';

const MINUTE = 60_000;
const START_MS = Date.parse('2026-06-01T12:00:00Z');
const time = (ms: number): string => new Date(ms).toISOString();

interface Shape {
  readonly minutes: number;
  readonly isDrifted: boolean;
  readonly isDeleted: boolean;
  readonly state: 'Launched' | 'Registered' | 'Initialized';
}

const claimOf = ({ minutes, isDrifted, isDeleted, state }: Shape, name: string): NodeClaim => {
  const createdMs = START_MS + minutes * MINUTE;
  const states = ['Launched', 'Registered', 'Initialized'] as const;
  const conditions = [
    ...states.map(
      (type, at): Condition => ({
        type,
        status: at <= states.indexOf(state) ? 'True' : 'Unknown',
        lastTransitionTime: time(createdMs + MINUTE),
      }),
    ),
    ...(isDrifted ? [{ type: 'Drifted', status: 'True' as const, reason: 'NodeClassDrift' }] : []),
  ];
  return partial<NodeClaim>({
    metadata: {
      name,
      creationTimestamp: time(createdMs),
      ...(isDeleted && { deletionTimestamp: time(createdMs + 2 * MINUTE) }),
    },
    status: { conditions },
  });
};

const shape: fc.Arbitrary<Shape> = fc.record({
  minutes: fc.integer({ min: -60, max: 60 }),
  isDrifted: fc.boolean(),
  isDeleted: fc.boolean(),
  state: fc.constantFrom('Launched', 'Registered', 'Initialized'),
});
const nodes: fc.Arbitrary<readonly RolloutNode[]> = fc
  .array(shape, { maxLength: 12 })
  .map((shapes) => shapes.map((each, at) => ({ nodeClaim: claimOf(each, `claim-${at}`), pods: [] })));
const record: fc.Arbitrary<RolloutRecord> = fc.record({
  target: fc.string(),
  sinceMs: fc.integer({ min: -30, max: 30 }).map((minutes) => START_MS + minutes * MINUTE),
  canaries: fc.integer({ min: 1, max: 5 }),
  unready: fc.option(fc.array(fc.uuid(), { maxLength: 3 }), { nil: undefined }),
  failingMs: fc.option(
    fc.integer({ min: -30, max: 30 }).map((minutes) => START_MS + minutes * MINUTE),
    { nil: undefined },
  ),
  halted: fc.option(fc.string({ minLength: 1 }), { nil: undefined, freq: 4 }),
});
const nowMs = fc.integer({ min: 0, max: 90 }).map((minutes) => START_MS + minutes * MINUTE);
const canaries = fc.oneof(
  fc.integer({ min: 1, max: 99 }).map(String),
  fc.integer({ min: 1, max: 100 }).map((share) => `${share}%`),
);
const policy = 'careful';
const section = { canaries: '2' };

describe('rolloutOf', () => {
  it('never allows more new nodes than canaries before the waves', () => {
    fc.assert(
      fc.property(nodes, record, nowMs, (all, known, now) => {
        const rollout = rolloutOf({ section, policy, nodes: all, record: known, nowMs: now });
        if (rollout === undefined || rollout.stage === 'Waves') return;
        const { stage, room = Number.NaN, launched } = rollout;
        expect(room).toBe(stage === 'Canary' ? Math.max(0, known.canaries - launched) : 0);
      }),
    );
  });

  it('reaches the waves only with as many initialized nodes as canaries, which have soaked', () => {
    const { soakMs = 0 } = rolloutTimes(section) ?? {};
    fc.assert(
      fc.property(nodes, record, nowMs, (all, known, now) => {
        const rollout = rolloutOf({ section, policy, nodes: all, record: known, nowMs: now });
        if (rollout?.stage !== 'Waves') return;
        const soaked = all.filter(({ nodeClaim: { metadata, status } }) => {
          const condition = status?.conditions?.find(({ type }) => type === 'Initialized');
          const isNew = Date.parse(metadata.creationTimestamp ?? '') >= known.sinceMs;
          const atMs = Date.parse(condition?.lastTransitionTime ?? '');
          return (
            isNew && metadata.deletionTimestamp === undefined && condition?.status === 'True' && now >= atMs + soakMs
          );
        });
        expect(soaked.length).toBeGreaterThanOrEqual(known.canaries);
        expect(known.halted).toBeUndefined();
      }),
    );
  });

  it('is halted as long as the record has a cause, and ends with the last drifted node', () => {
    fc.assert(
      fc.property(nodes, record, nowMs, fc.string({ minLength: 1 }), (all, known, now, halted) => {
        const rollout = rolloutOf({ section, policy, nodes: all, record: { ...known, halted }, nowMs: now });
        const isDrifted = all.some(({ nodeClaim: { status } }) =>
          status?.conditions?.some(({ type }) => type === 'Drifted'),
        );
        expect(rollout?.stage).toBe(isDrifted ? 'Halted' : undefined);
        if (isDrifted) expect(rollout?.cause).toBe(halted);
      }),
    );
  });

  it('reads the record that was written', () => {
    const pool = partial<NodePool>({ metadata: { name: 'default', annotations: { other: 'kept' } } });
    fc.assert(
      fc.property(record, (known) => {
        const written = withRollout(pool, known);
        expect(readRollout(written)).toEqual(known);
        expect(withRollout(written, undefined)).toEqual(pool);
      }),
    );
  });

  it('ignores records that cannot be read', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const annotations = { 'karpenter-ts.sh/rollout': text };
        const found = readRollout(partial<NodePool>({ metadata: { name: 'default', annotations } }));
        expect(found === undefined || found.canaries >= 1).toBe(true);
      }),
    );
  });

  it('has at least one canary and at most one for each drifted node', () => {
    fc.assert(
      fc.property(nodes, canaries, (all, text) => {
        const started = startOfRollout({ canaries: text }, all, 'target', START_MS + 1);
        const drifted = all.filter(({ nodeClaim: { status } }) =>
          status?.conditions?.some(({ type }) => type === 'Drifted'),
        );
        expect(started.canaries).toBeGreaterThanOrEqual(1);
        expect(started.canaries).toBeLessThanOrEqual(Math.max(1, drifted.length));
        expect(started.sinceMs).toBe(START_MS);
      }),
    );
  });
});

describe('a pod that is not ready on a new node', () => {
  const sinceMs = START_MS;
  const node = (name: string, isNew: boolean, pods: readonly Pod[]): RolloutNode => ({
    nodeClaim: claimOf({ minutes: isNew ? 1 : -60, isDrifted: !isNew, isDeleted: false, state: 'Initialized' }, name),
    node: partial<Node>({ metadata: { name } }),
    pods,
  });
  const pod = (workload: string, isReady: boolean): Pod => {
    const conditions = [
      { type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: time(START_MS + 3 * MINUTE) },
    ];
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: workload, uid: workload, controller: true };
    return partial<Pod>({
      metadata: { name: `${workload}-1`, namespace: 'shop', ownerReferences: [owner] },
      status: { phase: 'Running', conditions },
    } as Partial<Pod>);
  };
  const causeOf = (all: readonly RolloutNode[], minutes: number, unready: readonly string[] | undefined = []) =>
    rolloutOf({
      section,
      policy,
      nodes: all,
      record: { target: 'a', sinceMs, canaries: 1, unready },
      nowMs: START_MS + minutes * MINUTE,
    })?.cause;
  const failing = [node('new', true, [pod('web', false)]), node('old', false, [pod('web', true)])];

  it('halts the rollout after its time, with the names of the pod and the node', () => {
    expect(causeOf(failing, 7.9)).toBeUndefined();
    expect(causeOf(failing, 8)).toBe('pod shop/web-1 on node new was not ready within 5m0s');
  });

  it('does not halt the rollout if its workload was not ready at the start', () => {
    expect(causeOf(failing, 30, ['web'])).toBeUndefined();
    expect(causeOf(failing, 30, ['other'])).toBeDefined();
  });

  it('does not halt the rollout if too many workloads were not ready at the start', () => {
    const [canary] = failing;
    const known = { target: 'a', sinceMs, canaries: 1, unready: undefined };
    const all = [canary, failing[1]].filter((each) => each !== undefined);
    const rollout = rolloutOf({ section, policy, nodes: all, record: known, nowMs: START_MS + 30 * MINUTE });
    expect(rollout?.stage).toBe('Waves');
  });

  it('does not halt the rollout if as many pods of its workload are not ready elsewhere', () => {
    const elsewhere = node('old', false, [pod('web', false), pod('other', true)]);
    expect(causeOf([node('new', true, [pod('web', false)]), elsewhere], 30)).toBeUndefined();
  });

  it('keeps the soak open until its time, but does not open it again', () => {
    const { soakMs = 0 } = rolloutTimes(section) ?? {};
    const late = (minutes: number): Pod => {
      const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: time(START_MS + minutes * MINUTE) }];
      return { ...pod('web', false), status: { phase: 'Running', conditions } } as Pod;
    };
    const stageAt = (minutes: number, atMinute: number) =>
      rolloutOf({
        section,
        policy,
        nodes: [node('new', true, [late(minutes)]), node('old', false, [pod('web', true)])],
        record: { target: 'a', sinceMs, canaries: 1, unready: [] },
        nowMs: START_MS + atMinute * MINUTE,
      })?.stage;
    const end = 2 + soakMs / MINUTE;
    expect(stageAt(end - 1, end + 1)).toBe('Soak');
    expect(stageAt(end + 1, end + 2)).toBe('Waves');
  });
});
