/** Lets kube-scheduler bind the pods of a plan on a control plane. */
import {
  BIND_COMPLETED_ANNOTATION,
  CSI_NODE,
  type Kind,
  type KubeObject,
  NAMESPACE,
  NODE,
  type Node,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolumeClaim,
  POD,
  type Pod,
  SELECTED_NODE_ANNOTATION,
  STORAGE_CLASS,
} from '#api/objects';
import { type Plan, podKey, podRequests, type Snapshot } from '#engine/model';
import { solve } from '#engine/solve';
import { sortPods } from '#engine/testing';
import { belongs, podFor } from '#local/testing';
import { collectionPath, type KubeApi } from '../../support/kube-api.ts';
import { Draw } from '../../unit/engine/scenarios.ts';
import { daemonSetOf, existingNode, launchedNode, type NewNode, soundnessCluster, submitted } from './cluster.ts';

/** kube-scheduler watches nodes, volumes and pods separately. */
const WATCH_MS = 300;
const POLL_MS = 100;
/** Time after the last bound pod until the rest counts as refused. kube-scheduler retries pods within ten seconds. */
const QUIET_MS = 4_000;
const GATE = 'test/soundness';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Planned pod that was not bound. */
export interface UnboundPod {
  readonly pod: Pod;
  /** Message of kube-scheduler. */
  readonly message: string;
  /** Pods on its planned node that the plan places elsewhere. */
  readonly strangers: readonly string[];
}

/** Result of one cluster. */
export interface Binding {
  readonly seed: number;
  readonly plan: Plan;
  readonly planned: number;
  readonly unbound: readonly UnboundPod[];
  /** Planned pods that were bound to other nodes than planned. */
  readonly elsewhere: readonly string[];
}

interface BindOptions {
  /** True if kube-scheduler gets the pods one by one in the order of the plan, and tries their planned node first. */
  readonly steered: boolean;
}

export class SoundnessTrial {
  readonly #kube: KubeApi;

  constructor(kube: KubeApi) {
    this.#kube = kube;
  }

  /** Plans the cluster of a seed, and lets kube-scheduler bind the pods. */
  async run(seed: number, { steered }: BindOptions): Promise<Binding> {
    const { snapshot: drawn, options } = soundnessCluster(seed);
    const nodes = drawn.nodes.map(existingNode);
    await this.#createVolumes(drawn);
    await this.#createNodes(nodes);
    const running = await Promise.all(drawn.nodes.map((node) => this.#createBound(node.name, node.pods)));
    const accepted = await Promise.all(drawn.pendingPods.map((pod) => this.#isAccepted(pod)));
    const snapshot: Snapshot = {
      ...drawn,
      nodes: drawn.nodes.map((node, at) => ({ ...node, pods: running[at] ?? [] })),
      pendingPods: drawn.pendingPods.filter((_, at) => accepted[at]),
    };
    const plan = solve(snapshot, options);
    const draw = new Draw(seed + 2_000_000);
    const launched = plan.claims.map((claim, at) => launchedNode(claim, snapshot, `new-${at}`, draw));
    await this.#createNodes(launched);
    await sleep(WATCH_MS);
    await this.#createDaemons(snapshot, [...nodes, ...launched]);
    const places = new Map([
      ...plan.claims.flatMap(({ pods }, at) => pods.map((key) => [key, `new-${at}`] as const)),
      ...plan.placements.flatMap(({ node, pods }) => pods.map((key) => [key, node] as const)),
    ]);
    const pods = inPlanOrder(snapshot.pendingPods).filter((pod) => places.has(podKey(pod)));
    const messages = await (steered ? this.#bindInOrder(pods, places) : this.#bind(pods));
    const strangers = (await this.#pods()).filter((pod) => {
      const planned = places.get(podKey(pod));
      return planned !== undefined && pod.spec.nodeName !== undefined && pod.spec.nodeName !== planned;
    });
    await this.#clear();
    const unbound = pods.flatMap((pod) => {
      const message = messages.get(podKey(pod));
      const onItsNode = strangers.filter(({ spec }) => spec.nodeName === places.get(podKey(pod)));
      return message === undefined ? [] : { pod, message, strangers: onItsNode.map(podKey) };
    });
    const elsewhere = strangers.map(
      (pod) => `${podKey(pod)}: on ${pod.spec.nodeName}, planned on ${places.get(podKey(pod))}`,
    );
    return { seed, plan, planned: pods.length, unbound, elsewhere };
  }

  async #createVolumes({ persistentVolumes, persistentVolumeClaims, storageClasses, namespaces }: Snapshot) {
    const isMissing = async (kind: Kind, object: KubeObject): Promise<boolean> =>
      (await this.#kube.find(kind, object.metadata)) === undefined;
    for (const each of namespaces)
      if (await isMissing(NAMESPACE, each)) await this.#kube.create(NAMESPACE, each);
      else await this.#kube.patch(NAMESPACE, each.metadata, { metadata: { labels: each.metadata.labels } });
    for (const each of storageClasses)
      if (await isMissing(STORAGE_CLASS, each)) await this.#kube.create(STORAGE_CLASS, each);
    const claimOf = new Map(persistentVolumeClaims.map((claim) => [claim.spec.volumeName, claim.metadata]));
    await Promise.all([
      ...persistentVolumes.map((volume) => {
        const { namespace = 'default', name } = claimOf.get(volume.metadata.name) ?? { name: '' };
        return this.#kube.create(PERSISTENT_VOLUME, {
          ...volume,
          spec: { ...volume.spec, claimRef: { namespace, name } },
        });
      }),
      ...persistentVolumeClaims.map((claim) => this.#kube.create(PERSISTENT_VOLUME_CLAIM, submitted(claim))),
    ]);
  }

  async #createNodes(nodes: readonly NewNode[]): Promise<void> {
    await Promise.all(
      nodes.map(async ({ node, csiNode }) => {
        await this.#kube.create(CSI_NODE, csiNode);
        const { taints = [] } = node.spec ?? {};
        await this.#kube.create(NODE, node);
        // The API server taints new nodes as not ready.
        await this.#kube.patch<Node>(NODE, node.metadata, { spec: { taints } });
      }),
    );
  }

  /** Creates running pods, and returns the pods that the API server accepts. */
  async #createBound(nodeName: string, pods: readonly Pod[]): Promise<readonly Pod[]> {
    const created = await Promise.all(
      pods.map(async (pod) => {
        const running = { ...pod, spec: { ...pod.spec, nodeName } };
        if (!(await this.#isAccepted(running))) return false;
        await this.#kube.create(POD, submitted(running));
        const { phase = 'Running', containerStatuses, conditions } = pod.status ?? {};
        const status = containerStatuses ? { phase, containerStatuses, conditions } : { phase };
        await this.#kube.patch<Pod>(POD, pod.metadata, { status }, { subresource: 'status' });
        return true;
      }),
    );
    return pods.filter((_, at) => created[at]);
  }

  async #isAccepted(pod: Pod): Promise<boolean> {
    const path = `${collectionPath(POD, pod.metadata.namespace ?? 'default')}?dryRun=All`;
    return this.#kube.raw('POST', path, submitted(pod)).then(
      () => true,
      () => false,
    );
  }

  /** Creates the pods of DaemonSets that are missing on nodes, and waits until kube-scheduler has tried them. */
  async #createDaemons({ daemonPods, nodes }: Snapshot, all: readonly NewNode[]): Promise<void> {
    const names: string[] = [];
    for (const daemon of daemonPods) {
      const set = daemonSetOf(daemon);
      for (const { node } of all) {
        const isThere = nodes
          .find(({ name }) => name === node.metadata.name)
          ?.pods.some(({ metadata }) => metadata.ownerReferences?.[0]?.name === daemon.metadata.name);
        if (isThere || !belongs(set, node).run) continue;
        const name = `${daemon.metadata.name}-on-${node.metadata.name}`;
        const pod = podFor(set, node, '1');
        const { generateName: _, ...metadata } = pod.metadata as Pod['metadata'] & { readonly generateName?: string };
        await this.#kube.create(POD, submitted({ ...pod, metadata: { ...metadata, name } }));
        names.push(name);
      }
    }
    const isTried = ({ metadata, spec, status }: Pod): boolean =>
      names.includes(metadata.name) && (spec.nodeName !== undefined || isRefused({ ...(status && { status }) }));
    for (;;) {
      const pods = await this.#pods();
      if (pods.filter(isTried).length === names.length) return;
      await sleep(POLL_MS);
    }
  }

  async #bind(pods: readonly Pod[]): Promise<ReadonlyMap<string, string>> {
    for (const pod of pods) await this.#kube.create(POD, submitted(pod));
    return this.#unboundAfter(pods);
  }

  /** Waits until kube-scheduler binds no more pods. Returns its message for each pod that is not bound. */
  async #unboundAfter(pods: readonly Pod[]): Promise<ReadonlyMap<string, string>> {
    const keys = new Set(pods.map(podKey));
    let most = -1;
    for (let since = Date.now(); ; await sleep(POLL_MS)) {
      await this.#provision();
      const own = (await this.#pods()).filter((pod) => keys.has(podKey(pod)));
      const unbound = own.filter(({ spec }) => spec.nodeName === undefined);
      const bound = own.length - unbound.length;
      if (bound > most) since = Date.now();
      most = Math.max(most, bound);
      const isOver = unbound.every(isRefused) && Date.now() - since > QUIET_MS;
      if (unbound.length === 0 || isOver) return new Map(unbound.map((pod) => [podKey(pod), messageOf(pod)]));
    }
  }

  /** Lets kube-scheduler try each pod on its planned node, until a round over the remaining pods binds no pod. */
  async #bindInOrder(pods: readonly Pod[], places: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
    const messages = new Map<string, string>();
    let left = pods;
    for (let before = -1; left.length !== before; ) {
      before = left.length;
      const refused: Pod[] = [];
      for (const pod of left) {
        const message = await this.#tryOn(pod, places.get(podKey(pod)) ?? '');
        if (message === undefined) continue;
        refused.push(pod);
        messages.set(podKey(pod), message);
        await this.#kube.delete(POD, pod.metadata, { gracePeriodSeconds: 0 });
      }
      left = refused;
    }
    return new Map(left.map((pod) => [podKey(pod), messages.get(podKey(pod)) ?? '']));
  }

  /** Returns the message of kube-scheduler, or undefined if the pod was bound. */
  async #tryOn(pod: Pod, nodeName: string): Promise<string | undefined> {
    const gated = { ...pod.spec, schedulingGates: [{ name: GATE }] };
    await this.#kube.create(POD, submitted({ ...pod, spec: gated }));
    const nominated = { status: { nominatedNodeName: nodeName } };
    await this.#kube.patch<Pod>(POD, pod.metadata, nominated, { subresource: 'status' });
    await this.#kube.patch<Pod>(POD, pod.metadata, { spec: { schedulingGates: null } } as object);
    for (;;) {
      await this.#provision();
      const now = await this.#kube.find(POD, pod.metadata);
      if (now?.spec.nodeName !== undefined) return undefined;
      if (now !== undefined && isRefused(now)) return messageOf(now);
      await sleep(POLL_MS / 4);
    }
  }

  async #pods(): Promise<readonly Pod[]> {
    return (await this.#kube.list(POD)).items;
  }

  /** Creates the volumes of claims for which kube-scheduler has selected a node. */
  async #provision(): Promise<void> {
    const { items } = await this.#kube.list(PERSISTENT_VOLUME_CLAIM);
    const isSelected = ({ metadata, spec }: PersistentVolumeClaim): boolean =>
      metadata.annotations?.[SELECTED_NODE_ANNOTATION] !== undefined && !spec.volumeName;
    for (const { metadata, spec } of items.filter(isSelected)) {
      const { namespace = 'default', name, uid } = metadata;
      const volume = `made-for-${name}`;
      await this.#kube.create(PERSISTENT_VOLUME, {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: volume },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          storageClassName: spec.storageClassName,
          claimRef: { namespace, name, uid },
          csi: { driver: 'ebs.csi.aws.com', volumeHandle: volume },
        },
      } as KubeObject);
      const annotations = { [BIND_COMPLETED_ANNOTATION]: 'yes' };
      await this.#kube.patch<PersistentVolumeClaim>(PERSISTENT_VOLUME_CLAIM, metadata, {
        metadata: { annotations },
        spec: { volumeName: volume },
      });
      await this.#kube.patch<PersistentVolumeClaim>(
        PERSISTENT_VOLUME_CLAIM,
        metadata,
        { status: { phase: 'Bound' } },
        { subresource: 'status' },
      );
    }
  }

  /** Deletes all objects of a cluster. */
  async #clear(): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
    const clear = (kind: Kind, namespace?: string): Promise<unknown> =>
      this.#kube.raw('DELETE', collectionPath(kind, namespace), body);
    await Promise.all(['default', 'other'].map((namespace) => clear(POD, namespace)));
    await Promise.all([
      ...['default', 'other'].map((namespace) => clear(PERSISTENT_VOLUME_CLAIM, namespace)),
      ...[PERSISTENT_VOLUME, NODE, CSI_NODE].map((kind) => clear(kind)),
    ]);
    await sleep(WATCH_MS);
  }
}

const inPlanOrder = (pods: readonly Pod[]): readonly Pod[] =>
  sortPods(pods.map((pod) => ({ pod, requests: podRequests(pod) }))).map(({ pod }) => pod);

const isRefused = ({ status }: Pick<Pod, 'status'>): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') ?? false;

const messageOf = ({ status }: Pod): string =>
  status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? 'not tried';
