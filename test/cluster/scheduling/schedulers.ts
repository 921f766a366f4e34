/** kube-scheduler on a real control plane, and the local scheduler's choice for the same pod in the same cluster. */
import { type AllocationResult, POD, POD_DISRUPTION_BUDGET, type Pod } from '#api/objects';
import { realClock } from '#lib/clock';
import { cachesInProcess, connectInProcess, type ObjectClient, openApi } from '#local/api-server';
import type { Parts } from '#local/cluster';
import { bestNodes, Cluster, FILTERS, feasibleNodes, findPreemptions, reserveDevices } from '#local/testing';
import type { KubeApi } from '../../support/kube-api.ts';

/** Places pods that are created on the control plane. */
export class RealScheduler {
  readonly #kube: KubeApi;
  readonly #waiting = new Map<string, (pod: Pod) => void>();

  constructor(kube: KubeApi, signal: AbortSignal) {
    this.#kube = kube;
    void this.#watch(signal);
  }

  /** Returns the name of the node; undefined if the pod fits on no node. */
  async place(pod: Pod): Promise<string | undefined> {
    const decided = new Promise<Pod>((resolve) => this.#waiting.set(pod.metadata.name, resolve));
    await this.#kube.create(POD, pod);
    return (await decided).spec.nodeName;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { metadata } = await this.#kube.list(POD);
    for await (const event of this.#kube.watch(POD, metadata?.resourceVersion ?? '', signal)) {
      if (event.type === 'BOOKMARK') continue;
      const { object } = event;
      const isRefused = object.status?.conditions?.some(
        ({ type, status }) => type === 'PodScheduled' && status === 'False',
      );
      if (!object.spec.nodeName && !isRefused) continue;
      this.#waiting.get(object.metadata.name)?.(object);
      this.#waiting.delete(object.metadata.name);
    }
  }
}

/** Allocations of claims on one node, by the name of the claim. */
export type Allocations = Readonly<Record<string, AllocationResult | undefined>>;

export interface Choice {
  /** Number of nodes that the pod fits on. */
  readonly feasible: number;
  /** Names of these nodes. */
  readonly fits: readonly string[];
  /** Names of the nodes that are equally good for the pod. */
  readonly best: readonly string[];
}

/** The local scheduler's view of a cluster, into which the same objects are written. */
export interface LocalScheduler {
  readonly client: ObjectClient;
  /** Chooses for a pod that is not bound. */
  choose(pod: Pod): Choice;
  /** Returns the equally good nodes for a pod, each with the pods that it preempts. Nodes with enough room have no victims. */
  preempt(pod: Pod): readonly { readonly node: string; readonly victims: readonly string[] }[];
  /** Returns the allocations that the scheduler would write for a pod on a node. */
  allocate(pod: Pod, nodeName: string): Allocations;
}

export function openLocalScheduler(): LocalScheduler {
  const api = openApi({ clock: realClock() });
  // The owners of pods need not exist.
  api.stop();
  const caches = cachesInProcess(api);
  const client = connectInProcess(api);
  const cluster = new Cluster(caches);
  const parts: Parts = { client, caches, clock: realClock(), signal: new AbortController().signal, log: () => {} };
  return {
    client,
    choose(pod) {
      const verdict = feasibleNodes(pod, cluster);
      const fits = 'fits' in verdict ? verdict.fits : [];
      return {
        feasible: fits.length,
        fits: fits.map(({ name }) => name),
        best: bestNodes(pod, fits, cluster).map(({ name }) => name),
      };
    },
    preempt(pod) {
      const { best } = this.choose(pod);
      if (best.length > 0) return best.map((node) => ({ node, victims: [] }));
      const budgets = caches.of(POD_DISRUPTION_BUDGET).list();
      return findPreemptions(pod, cluster, FILTERS, budgets).map(({ node, victims }) => ({
        node: node.name,
        victims: victims.map(({ metadata }) => metadata.name),
      }));
    },
    allocate(pod, nodeName) {
      const view = cluster.nodes.find(({ name }) => name === nodeName);
      const reservation = view && reserveDevices(pod, view, cluster.devices, parts);
      reservation?.end();
      return Object.fromEntries(
        (reservation?.claims ?? []).map(({ metadata, status }) => [metadata.name, status?.allocation]),
      );
    },
  };
}
