/** A replayed fleet of GPUs: the driver double publishes devices, and the scheduler allocates claims, in virtual time. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { run } from '../../../src/replay/run.ts';
import { readEvent } from '../../../src/replay/trace/events.ts';
import type { TraceHeader } from '../../../src/replay/trace/trace.ts';
import { NEUTRAL_WORLD, SHORT_LIFE_OBJECTS } from '../../support/short-life.ts';

const HEADER: TraceHeader = { trace: 'karpenter/v1', name: 'gpus', start: '2026-01-05T09:00:00Z', seconds: 1200 };
const [NODE_CLASS] = SHORT_LIFE_OBJECTS;
const DRA = ['--aws-feature-gates=DRANVIDIAGPU=true'];

const example = (name: string): readonly unknown[] =>
  parseAllDocuments(readFileSync(join(import.meta.dirname, '../../../examples/dra', name), 'utf8')).map((each) =>
    each.toJS(),
  );

const at = (seconds: number, applied: readonly unknown[]) => applied.map((apply) => ({ at: seconds, apply }));

/** Replays events after they were read as lines of a trace. */
const played = (events: readonly object[], { args = DRA, seconds = HEADER.seconds } = {}) =>
  run({
    trace: { header: { ...HEADER, seconds }, events: () => events.map((event) => readEvent(event, HEADER, 0)) },
    world: NEUTRAL_WORLD,
    set: { name: 'as is', says: [], args, objects: NODE_CLASS === undefined ? [] : [NODE_CLASS] },
    signal: undefined,
    onProgress: () => undefined,
  });

const scaleTo = (seconds: number, name: string, replicas: number) => ({
  ...{ at: seconds, replicas },
  scale: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name },
});

describe('a replay of pods with resource claims', () => {
  const fleet = [
    ...at(0, example('drivers.yaml')),
    ...at(60, example('gpu.yaml')),
    scaleTo(240, 'inference', 6),
    scaleTo(600, 'inference', 1),
    scaleTo(900, 'inference', 0),
  ];

  it('launches nodes with the devices, consolidates them, and reports their cost', async () => {
    const { complaints, nodes, waiting, cost, series } = await played(fleet);
    expect(complaints).toEqual([]);
    expect(waiting).toMatchObject({ stillWaiting: 0 });
    expect(waiting.pods).toBeGreaterThanOrEqual(6);
    expect(nodes.bought).toBeGreaterThan(1);
    expect(nodes.givenBack).toBe(nodes.bought);
    expect(Object.keys(nodes.hoursByType)).toEqual(
      Object.keys(nodes.hoursByType).filter((type) => /^(?:g|p)\d/.test(type)),
    );
    expect(nodes.byReason).toMatchObject({ Underutilized: expect.any(Number), Empty: expect.any(Number) });
    expect(cost.byNodePool).toEqual({ gpu: expect.closeTo(cost.instancesUsd + cost.extrasUsd, 6) });
    expect(series.runningPods[9]).toBe(6);
    expect(series.usdPerHour[14]).toBeLessThan((series.usdPerHour[9] ?? 0) / 2);
  });

  it('launches no nodes while the operator ignores resource claims', async () => {
    const { nodes, waiting } = await played(fleet.slice(0, -2), { args: [], seconds: 300 });
    expect(nodes.bought).toBe(0);
    expect(waiting).toMatchObject({ pods: 0, stillWaiting: 6 });
  });

  it('reads the devices of new nodes that ConfigMaps declare', async () => {
    const events = [...at(0, example('drivers.yaml')), ...at(0, example('mig.yaml'))];
    const { complaints, nodes, waiting } = await played(events, { seconds: 180 });
    expect(complaints).toEqual([]);
    expect(waiting).toMatchObject({ pods: 7, stillWaiting: 0 });
    expect(Object.keys(nodes.hoursByType)).toEqual(['p5.4xlarge']);
  });
});
