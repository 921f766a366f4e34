/** Replays with required durations: a week of 500 nodes, and a month of 50 nodes. */
import type { KubeObject } from '#api/objects';
import { replay } from '#replay/run';
import type { Trace } from '#replay/trace';
import { DEFAULT_WORLD } from '#replay/world-model';
import { nodeClassOf, nodePoolOf } from '../test/support/awsobjects.ts';
import { benchmarkWeek, month50 } from '../test/support/benchmark-traces.ts';

const SEED = 7;
const DAY_SECONDS = 86_400;

/** Nodes of at most 16 CPUs, which results in the number of nodes of the benchmark. */
const OBJECTS: readonly KubeObject[] = [
  nodeClassOf('replay'),
  nodePoolOf(
    { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
    { key: 'karpenter.k8s.aws/instance-cpu', operator: 'Lt', values: ['17'] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
  ),
];

const WORKLOADS: readonly { readonly name: string; readonly trace: () => Trace }[] = [
  { name: 'replay-month', trace: () => month50(SEED) },
  { name: 'replay-week', trace: () => benchmarkWeek(SEED) },
];

/** @param isWanted selects workloads by name. @param days maximum number of days of each trace */
export async function* replayLines(isWanted: (workload: string) => boolean, days = Number.POSITIVE_INFINITY) {
  for (const { name, trace: made } of WORKLOADS) {
    if (!isWanted(name)) continue;
    const trace = shortened(made(), days * DAY_SECONDS);
    const before = process.cpuUsage();
    const { runs } = await replay({
      trace,
      world: DEFAULT_WORLD,
      sets: [{ name, says: [], args: [], objects: OBJECTS }],
    });
    const [run] = runs;
    if (run === undefined) throw new Error(`${name} was not played`);
    const { user, system } = process.cpuUsage(before);
    yield {
      workload: name,
      days: rounded(run.playedSeconds / DAY_SECONDS),
      podsBound: run.waiting.pods,
      nodesAverage: rounded(run.nodes.average),
      nodesMost: run.nodes.most,
      nodesBought: run.nodes.bought,
      realSeconds: rounded(run.took.seconds),
      cpuSeconds: rounded((user + system) / 1e6),
      rssMb: Math.round(run.took.rssBytes / 1e6),
      usd: rounded(run.cost.effectiveUsd),
    };
  }
}

function shortened(trace: Trace, seconds: number): Trace {
  if (seconds >= trace.header.seconds) return trace;
  return {
    header: { ...trace.header, seconds },
    async *events() {
      for await (const event of trace.events()) {
        if (event.at > seconds) return;
        yield event;
      }
    },
  };
}

const rounded = (value: number): number => Number(value.toFixed(1));
