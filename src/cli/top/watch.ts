/** Watches a live cluster for `karpenter top`, with read requests only. */
import { EC2_NODE_CLASS, EVENT, POD } from '../../api/kinds.ts';
import type { Verdict } from '../../engine/disruption/verdicts.ts';
import type { KubeReader } from '../../kube/client.ts';
import { startInformers } from '../../kube/informers.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { LiveState } from '../../live/model.ts';
import { LiveView } from '../../live/view.ts';
import { type Logger, silent } from '../../observe/logger.ts';
import { ClusterState } from '../../state/cluster.ts';
import { askOperator } from '../operator.ts';
import type { TypesFor } from '../scenario.ts';
import { OPERATOR_EVENTS } from '../snapshot/kinds.ts';
import { EventReader } from './events.ts';
import { billedPrices } from './prices.ts';

const INTERVAL_MS = 5_000;
/** Wait for the first lists. Kinds that are not readable must not delay the view for ever. */
const FIRST_LISTS_MS = 15_000;

export interface WatchOptions {
  readonly client: KubeReader;
  readonly clusterName: string;
  readonly clock: Clock;
  readonly types: TypesFor;
  /**
   * Returns the URL of the operator's metrics port. Without it, verdicts come from the events of the nodes.
   * @param isLost true if the last URL did not work
   */
  readonly operator: (isLost: boolean) => Promise<string | undefined>;
  readonly signal: AbortSignal;
}

export interface WatchedCluster {
  state(): LiveState;
  /** Returns the verdict on a node with the results of all methods, if they are known. */
  verdictOf(node: string): Verdict | undefined;
  /** Returns the last failure of a request, until the request succeeds again. */
  problem(): string | undefined;
}

/** Opens watches until the signal aborts, and waits for the first lists. */
export async function watchCluster(options: WatchOptions): Promise<WatchedCluster> {
  const { client, clock, signal, operator } = options;
  const problems = new Map<string, string>();
  const log = problemLog(problems);
  const informers = startInformers({ client, clock, log, signal });
  const cluster = new ClusterState({ informers, clock, manages: ({ group }) => group === EC2_NODE_CLASS.group });
  const nodeClasses = informers.store(EC2_NODE_CLASS, {}, { optional: true });
  let verdicts: ReadonlyMap<string, Verdict> = new Map();
  let isLost = false;
  const view = new LiveView({
    ...{ clusterName: options.clusterName, cluster, clock, log },
    pricesOf: billedPrices({ cluster, nodeClasses, clock, types: options.types }),
    verdicts: () => [...verdicts.values()],
    isLeading: () => true,
  });
  const events = new EventReader(view, informers.store(POD));
  const refresh = async (): Promise<void> => {
    await attempt(problems, 'events', async () =>
      events.read(await client.listAll(EVENT, { fieldSelector: OPERATOR_EVENTS })),
    );
    verdicts = events.verdicts;
    isLost = !(await attempt(problems, 'operator', async () => {
      const server = await operator(isLost);
      if (server === undefined) return;
      const found = await askOperator<readonly Verdict[]>(server, '/debug/verdicts');
      verdicts = new Map([...events.verdicts, ...found.map((verdict) => [verdict.node, verdict] as const)]);
    }));
  };
  await Promise.race([informers.synced(), clock.sleep(FIRST_LISTS_MS, signal)]);
  await Promise.all([refresh(), view.refreshPrices()]);
  void view.run(signal);
  void repeat(refresh, { clock, signal });
  return {
    state: () => ({
      summary: view.summary(),
      nodes: view.nodes(),
      pending: view.pending(),
      decisions: view.decisions.list(),
      costs: view.costs,
    }),
    verdictOf: (node) => verdicts.get(node),
    problem() {
      const missing = informers.unsynced();
      return missing.length > 0 ? `waiting for the list of ${missing.join(', ')}` : problems.values().next().value;
    },
  };
}

async function repeat(work: () => Promise<void>, { clock, signal }: Pick<WatchOptions, 'clock' | 'signal'>) {
  while (!signal.aborted) {
    await clock.sleep(INTERVAL_MS, signal);
    if (!signal.aborted) await work();
  }
}

/** Returns false and records the problem if the work fails. */
async function attempt(problems: Map<string, string>, name: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    problems.delete(name);
    return true;
  } catch (error) {
    problems.set(name, `${name}: ${messageOf(error)}`);
    return false;
  }
}

/** Stores the last failure of the watches instead of writing lines over the view. */
function problemLog(problems: Map<string, string>): Logger {
  const store = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    const cause = fields.error instanceof Error ? `: ${fields.error.message}` : '';
    problems.set('watch', message + cause);
  };
  const log: Logger = { ...silent, warn: store, error: store, with: () => log };
  return log;
}
