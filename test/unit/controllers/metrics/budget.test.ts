/** What a cluster of 1,000 nodes and 20,000 pods costs whoever scrapes it, and the event loop that answers. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { seriesBudget } from '../../../../src/observe/metric-views.ts';
import type { Metrics } from '../../../../src/observe/metrics.ts';
import { inSteps } from '../../../../src/process/rendered-answer.ts';
import { measuredCluster } from './large-cluster.ts';

const SIZE = { nodes: 1_000, pods: 20_000 };
/** What does not grow with the cluster: controllers, queues, calls. `test/operator/metrics.test.ts` counts them. */
const BASE = seriesBudget(0);

/** A scrape holds the event loop for no longer: 5 ms until `inSteps` pauses at the latest, and the part that it is at then. */
const LONGEST_MS = 10;
const STEP_MS = 5;
/** As many are measured at most. */
const SCRAPES = 10;

const seriesOf = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const named = (series: readonly string[], name: string): readonly string[] =>
  series.filter((line) => line.startsWith(`${name}{`));
const total = (series: readonly string[]): number =>
  series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);

describe('the metrics of a large cluster', () => {
  let metrics: Metrics;
  let series: readonly string[];
  beforeAll(async () => {
    metrics = await measuredCluster(SIZE, 'budget');
    series = seriesOf(await metrics.text());
  });

  it('stay within their budget by default', () => {
    expect(series.length).toBeLessThanOrEqual(seriesBudget(SIZE.nodes) - BASE);
    expect(new Set(series.map((line) => line.slice(0, line.lastIndexOf(' ')))).size).toBe(series.length);
  });

  it('are all there when all are wanted', async () => {
    const all = seriesOf(await (await measuredCluster({ nodes: 20, pods: 400 }, 'karpenter')).text());
    expect(named(all, 'karpenter_pods_state')).toHaveLength(400);
    expect(named(all, 'operator_node_status_condition_count')).toHaveLength(20 * 4);
    expect(named(all, 'operator_status_condition_count').length).toBeGreaterThan(20 * 4);
    expect(named(all, 'karpenter_cloudprovider_instance_type_offering_available')).toHaveLength(700 * 9);
    expect(named(all, 'karpenter_nodes_allocatable').filter((line) => line.includes('ephemeral_storage'))).toHaveLength(
      20,
    );
  });

  it('count by default as many pods, nodes and conditions as there are', () => {
    expect(total(named(series, 'karpenter_pods_state'))).toBe(SIZE.pods);
    expect(total(named(series, 'operator_node_status_condition_count'))).toBe(4 * SIZE.nodes);
    expect(total(named(series, 'operator_nodeclaim_status_condition_count'))).toBe(4 * SIZE.nodes);
    const allocatable = named(series, 'karpenter_nodes_allocatable');
    expect(total(allocatable.filter((line) => line.includes('resource_type="cpu"')))).toBeCloseTo(15.9 * SIZE.nodes, 3);
    expect(total(allocatable.filter((line) => line.includes('resource_type="nvidia.com/gpu"')))).toBe(SIZE.nodes);
  });

  it('are read in steps that hold nobody up', async () => {
    const lines: number[] = [];
    const leastMs: number[] = [];
    // what takes long each time is the work of the step; the collector of garbage comes at another step each time
    for (let scrape = 0; scrape < SCRAPES; scrape += 1) {
      let [at, beganMs] = [0, usedMs()];
      for await (const part of metrics.parts()) {
        leastMs[at] = Math.min(leastMs[at] ?? Number.POSITIVE_INFINITY, usedMs() - beganMs);
        lines[at] = part.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
        at += 1;
        beganMs = usedMs();
      }
    }
    expect(leastMs.length).toBeGreaterThan(200);
    expect(Math.max(...lines)).toBeLessThanOrEqual(50);
    expect(Math.max(...leastMs)).toBeLessThanOrEqual(LONGEST_MS - STEP_MS);
  });

  it('let others have their turn between steps', async () => {
    let longestMs = Number.POSITIVE_INFINITY;
    for (let scrape = 0; scrape < SCRAPES && longestMs > LONGEST_MS; scrape += 1) {
      const turns = watchTurns();
      const { length } = await inSteps(metrics.parts());
      const seen = turns.stop();
      expect(length).toBeGreaterThan(1_000_000);
      expect(seen.count).toBeGreaterThan(10);
      longestMs = Math.min(longestMs, seen.longestMs);
    }
    expect(longestMs).toBeLessThanOrEqual(LONGEST_MS);
  });
});

/** Processor time of this thread: what other processes take from it is left out. */
function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Processor time of the longest turn of the event loop. */
function watchTurns(): { stop(): { readonly longestMs: number; readonly count: number } } {
  let [longestMs, count, beganMs] = [0, 0, usedMs()];
  const look = (): void => {
    const nowMs = usedMs();
    longestMs = Math.max(longestMs, nowMs - beganMs);
    count += 1;
    beganMs = nowMs;
    next = setImmediate(look);
  };
  let next = setImmediate(look);
  return {
    stop() {
      clearImmediate(next);
      return { longestMs, count };
    },
  };
}
