/**
 * Ends the series of NodePools and NodeClasses that no longer exist. Otherwise counters and histograms would keep the series of
 * every name that ever existed in the cluster.
 */
import { NODEPOOL_LABEL, poolNameOf } from '#api/objects';
import { after, type KeyedWorker, type Outcome, settled } from '#kube/reconcilers';
import { monotonicMs } from '#lib/clock';
import { CLAIMS_BY_NODE_POOL } from '#state';
import type { Deps } from '../deps.ts';
import { nodeClassLabel } from '../node-classes.ts';
import { labelName } from './status.ts';

/** Long enough for several scrapes to read the last values. */
const GRACE_MS = 10 * 60_000;

/** Object with a name that is the value of metric labels. */
interface Owner {
  readonly name: string;
  /** Metric labels that contain the name. The first label identifies the kind of owner. */
  readonly labels: readonly [string, ...string[]];
  /** Returns true if this owner exists, or an object that is measured under its name. */
  readonly isPresent: () => boolean;
}

export function endedSeries(deps: Deps): KeyedWorker {
  const { cluster, informers, cloud, clock, metrics } = deps;
  const { nodePools, nodeClaims } = cluster.stores;
  /** Deleted owners and the time of their deletion. */
  const gone = new Map<string, { readonly owner: Owner; readonly sinceMs: number }>();

  function watch(add: (key: string) => void): void {
    const ended = (owner: Owner): void => {
      const [kind] = owner.labels;
      const key = `${kind}/${owner.name}`;
      if (owner.name === '' || owner.isPresent()) return;
      gone.set(key, { owner, sinceMs: monotonicMs(clock) });
      add(key);
    };
    const poolEnded = (name: string): void => ended(poolOwner(name));
    nodePools.subscribe((event, { metadata }) => {
      if (event === 'deleted') poolEnded(metadata.name);
    });
    nodeClaims.subscribe((event, claim) => {
      if (event === 'deleted') poolEnded(poolNameOf(claim));
    });
    for (const kind of cloud.nodeClassKinds) {
      const store = informers.store(kind);
      const labels: Owner['labels'] = [labelName(nodeClassLabel(kind)), 'nodeclass'];
      store.subscribe((event, { metadata: { name } }) => {
        if (event === 'deleted') ended({ name, labels, isPresent: () => store.get({ name }) !== undefined });
      });
    }
  }

  const poolOwner = (name: string): Owner => ({
    name,
    labels: [labelName(NODEPOOL_LABEL), 'nodepool'],
    isPresent: () => nodePools.get({ name }) !== undefined || nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, name).length > 0,
  });

  return {
    name: 'metrics.ended',
    keyed: true,
    concurrency: 1,
    bind: watch,
    async reconcile(key): Promise<Outcome> {
      const entry = gone.get(key);
      if (entry === undefined) return settled;
      const restMs = entry.sinceMs + GRACE_MS - monotonicMs(clock);
      const isBack = entry.owner.isPresent();
      if (!isBack && restMs > 0) return after(restMs);
      gone.delete(key);
      if (!isBack) await metrics.endSeries(entry.owner.labels, entry.owner.name);
      return settled;
    },
  };
}
