/** Versions of the Lease by which replicas elect a leader. */
import { LEASE, type Lease } from '#api/objects';
import { type Cluster, NAMESPACE } from '../../cluster/harness/cluster.ts';

const NAME = 'karpenter-leader-election';

export const findLease = ({ kube }: Cluster): Promise<Lease | undefined> =>
  kube.find(LEASE, { name: NAME, namespace: NAMESPACE });

export interface HandOver {
  readonly from: string;
  readonly to: string;
  /** Time between the last write of the previous leader and the first write of the next leader, according to the Lease. */
  readonly gapMs: number;
}

export class LeaseHistory {
  readonly #versions: Lease[] = [];
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;

  /** Watches the Lease until `stop`. */
  constructor(cluster: Cluster) {
    this.#watching = this.#watch(cluster);
  }

  async #watch({ kube }: Cluster): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const { metadata } = await kube.list(LEASE, { namespace: NAMESPACE });
        for await (const event of kube.watch(LEASE, metadata.resourceVersion ?? '', signal))
          if (event.type !== 'BOOKMARK' && event.object.metadata.name === NAME) this.#versions.push(event.object);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  /** Returns the hand-overs between leaders since a number of versions. */
  handOvers(since = 0): readonly HandOver[] {
    const found: HandOver[] = [];
    let [last] = this.#versions.slice(since);
    for (const version of this.#versions.slice(since)) {
      const [from, to] = [holderOf(last), holderOf(version)];
      if (from !== to && to !== '') found.push({ from, to, gapMs: timeOf(version) - timeOf(last) });
      // A release is the last write of the previous leader.
      last = to === '' ? ({ ...version, spec: { ...version.spec, holderIdentity: from } } as Lease) : version;
    }
    return found;
  }

  get length(): number {
    return this.#versions.length;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
  }
}

const holderOf = (lease: Lease | undefined): string => lease?.spec?.holderIdentity ?? '';
const timeOf = (lease: Lease | undefined): number => Date.parse(lease?.spec?.renewTime ?? '');
