/** The kubelet of one machine: registers the node, sends heartbeats, and starts and stops its pods. */
import { EFA_DRIVER, NEURON_DRIVER, NVIDIA_DRIVER } from '#api/devices';
import { CSI_NODE, getCondition, LEASE, type Lease, NODE, type Node, POD, type Pod } from '#api/objects';
import { resourcesOf as amountsOf, type Resources } from '#engine/model';
import { timestamp } from '#lib';
import type { LocalInstance } from '../../aws/types.ts';
import { ApiError, isAnyConflict, isGone } from '../../client.ts';
import { withConditions } from '../../conditions.ts';
import type { Parts, Report } from '../../parts.ts';
import { microTime } from '../apiserver/json.ts';
import { nodeNameOf } from '../controllers/workloads/pods.ts';
import { devices, kubeletResources, volumeLimitOf } from './capacity.ts';
import { preStopMs, readyTimesMs } from './container-timing.ts';
import { DriverPlugins, requireClaims } from './dra/driver-plugins.ts';
import { addTimes, bootIdOf, csiNode, nodeConditions, nodeObject, providerIdOfInstance } from './node-object.ts';
import type { KubeletOptions } from './options.ts';
import { PodResizes } from './pod-resizes.ts';
import {
  durationMs,
  failsProbes,
  finishedStatus,
  killedStatus,
  probedStatus,
  readyAgain,
  running,
  starting,
} from './pod-status.ts';
import type { KubeletConfig } from './userdata/index.ts';

const LEASE_NAMESPACE = 'kube-node-lease';
const RETRY_MS = 1_000;
/** Conditions of EKS's node monitoring agent. Each is True at the start of the agent. */
const MONITORED: ReadonlySet<string> = new Set([
  'AcceleratedHardwareReady',
  'ContainerRuntimeReady',
  'KernelReady',
  'NetworkingReady',
  'StorageReady',
]);

export interface KubeletContext {
  readonly parts: Parts;
  readonly options: KubeletOptions;
  readonly region: string;
  readonly kubeletVersion: string;
  /** Returns a number in [0, 1). */
  random(): number;
  /** @param isIpv6 family of the address */
  nextPodIp(isIpv6: boolean): string;
  readonly report: Report;
}

/** DRA drivers by the resource of the device plugin that they replace. */
const DRIVER_OF_RESOURCE: Readonly<Record<string, string>> = {
  'nvidia.com/gpu': NVIDIA_DRIVER,
  'vpc.amazonaws.com/efa': EFA_DRIVER,
  'aws.amazon.com/neuron': NEURON_DRIVER,
  'aws.amazon.com/neuroncore': NEURON_DRIVER,
};

type Stage = 'starting' | 'running' | 'finished' | 'stopping';

export class Kubelet {
  readonly #context: KubeletContext;
  readonly #instance: LocalInstance;
  readonly #config: KubeletConfig;
  /** Aborted when the machine ends. */
  readonly #life: AbortController;
  /** Boots of the machine before the start of this kubelet. */
  readonly boots: number;
  /** UIDs of pods with readiness probes that fail. */
  readonly #failing = new Set<string>();
  readonly #drivers: DriverPlugins;
  readonly #resizes: PodResizes;
  /** Stage of each pod, by UID. */
  readonly #stages = new Map<string, Stage>();
  #registered = false;
  #ready = false;
  /** Injected fault: the machine runs, but its kubelet hangs. */
  #hangs = false;

  constructor(instance: LocalInstance, config: KubeletConfig, context: KubeletContext) {
    this.#instance = instance;
    this.boots = instance.boots;
    this.#config = config;
    this.#context = context;
    this.#life = new AbortController();
    const { signal } = this.#life;
    this.#drivers = new DriverPlugins({
      parts: context.parts,
      report: context.report,
      options: context.options,
      instance,
      signal,
    });
    this.#resizes = new PodResizes({
      clock: context.parts.clock,
      signal,
      options: context.options,
      pods: () => this.#pods().filter((pod) => this.#stages.get(pod.metadata.uid ?? '') === 'running'),
      allocatable: () => this.#allocatable(),
      write: (pod, status) => this.#once('resize', () => this.#writeStatus(pod, status)),
    });
    context.parts.signal.addEventListener('abort', () => this.#life.abort(), { once: true, signal });
  }

  get nodeName(): string {
    return this.#instance.privateDnsName;
  }

  get #signal(): AbortSignal {
    return this.#life.signal;
  }

  /** Registers the node, reports it Ready, and renews its lease until this machine ends. */
  async run(): Promise<void> {
    const { parts, options } = this.#context;
    await this.#persist('registration', () => this.#register());
    this.#registered = true;
    this.#syncPods();
    await parts.clock.sleep(options.readyMs, this.#signal);
    await this.#persist('readiness', () => this.#report());
    this.#ready = true;
    this.#announceReady();
    this.#syncPods();
    void this.#offerDevices();
    let sinceStatusMs = 0;
    while (!this.#signal.aborted) {
      await parts.clock.sleep(options.leaseMs, this.#signal);
      if (this.#signal.aborted || this.#hangs) continue;
      await this.#once('lease', () => this.#renewLease());
      sinceStatusMs += options.leaseMs;
      if (sinceStatusMs < options.statusMs && !this.#nodeLooksDead()) continue;
      sinceStatusMs = 0;
      await this.#once('status', () => this.#report());
    }
  }

  /** Applies a change of a pod that is bound to this node. */
  pod(pod: Pod): void {
    if (!this.#registered || this.#hangs || this.#signal.aborted) return;
    const uid = pod.metadata.uid ?? '';
    const stage = this.#stages.get(uid);
    if (pod.metadata.deletionTimestamp) {
      if (stage === 'stopping') return;
      this.#stages.set(uid, 'stopping');
      this.#drivers.remove(pod);
      void this.#stopPod(pod);
    } else if (stage === undefined && pod.status?.phase === 'Running') {
      // The pod was running before this kubelet started, and still runs.
      this.#stages.set(uid, 'running');
      this.#drivers.put(pod);
      this.#correct(pod);
    } else if (stage === 'running') {
      this.#correct(pod);
      this.#probe(pod);
      this.#drivers.put(pod);
      this.#resizes.sync();
    } else if (stage === undefined && this.#mayStart(pod)) {
      this.#stages.set(uid, 'starting');
      void this.#startPod(pod);
    }
  }

  /** Reports pods as ready again after a hang, because the cluster has marked pods of the silent node as not ready. */
  #correct(pod: Pod): void {
    if (getCondition(pod, 'Ready')?.reason !== 'NodeNotReady') return;
    void this.#once('pod', () => this.#writeStatus(pod, readyAgain(pod, this.#context.parts.clock.now())));
  }

  /** Reports the change if the annotation that lets the readiness probes of a pod fail was added or removed. */
  #probe(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (failsProbes(pod) === this.#failing.has(uid)) return;
    if (failsProbes(pod)) this.#failing.add(uid);
    else this.#failing.delete(uid);
    void this.#once('pod', () => this.#writeStatus(pod, probedStatus(pod, this.#context.parts.clock.now())));
  }

  podGone(pod: Pod): void {
    this.#drivers.remove(pod);
    this.#stages.delete(pod.metadata.uid ?? '');
    this.#failing.delete(pod.metadata.uid ?? '');
    this.#resizes.sync();
  }

  #allocatable(): Resources {
    return amountsOf(this.#context.parts.caches.of(NODE).get({ name: this.nodeName })?.status?.allocatable);
  }

  /** Shuts the machine down: reports this on the node, and ends its pods without a grace period. */
  async die(): Promise<void> {
    if (this.#signal.aborted) return;
    this.#life.abort();
    if (!this.#registered) return;
    this.#ready = false;
    await this.#once('status', () => this.#report('node is shutting down'));
    await Promise.all(this.#pods().map((pod) => this.#once('shutdown', () => this.#killPod(pod))));
  }

  /** Ends this kubelet with its machine, as a reset does: the cluster receives no report. */
  crash(): void {
    this.#life.abort();
  }

  /** Starts or ends the hanging fault. */
  hang(hangs: boolean): void {
    this.#hangs = hangs;
    if (!hangs) this.#syncPods();
  }

  #announceReady(): void {
    const node = this.#context.parts.caches.of(NODE).get({ name: this.nodeName });
    const message = `Node ${this.nodeName} status is now: NodeReady`;
    if (node && !this.#signal.aborted) this.#context.report(node, 'Normal', 'NodeReady', message);
  }

  #pods(): readonly Pod[] {
    return this.#context.parts.caches.of(POD).by(nodeNameOf, this.nodeName);
  }

  #syncPods(): void {
    for (const pod of this.#pods()) this.pod(pod);
  }

  /** If the pod network is not ready, only pods on the host network start. */
  #mayStart(pod: Pod): boolean {
    const isPending = (pod.status?.phase ?? 'Pending') === 'Pending';
    return isPending && (this.#ready || pod.spec.hostNetwork === true);
  }

  async #register(): Promise<void> {
    const { parts, options, region, kubeletVersion } = this.#context;
    const { client, clock } = parts;
    const instance = this.#instance;
    const resources = kubeletResources(instance, this.#config, options);
    const wanted = nodeObject({
      instance,
      config: this.#config,
      resources,
      region,
      kubeletVersion,
      now: clock.now(),
      reportsAddresses: options.reportsAddresses,
    });
    let node: Node;
    try {
      node = await client.create(NODE, wanted);
    } catch (error) {
      const present = isAnyConflict(error) ? await client.find(NODE, wanted.metadata) : undefined;
      // The node of an earlier machine with the same address must be deleted first.
      if (present?.spec?.providerID !== providerIdOfInstance(instance)) throw error;
      node = present;
      await this.#reportBoot(present);
    }
    const volumes = await volumeLimitOf(client, instance);
    await this.#createUnlessThere(() => client.create(CSI_NODE, csiNode(node, instance, volumes)));
    const { name, uid = '' } = node.metadata;
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: LEASE_NAMESPACE, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime(clock.now()) },
    };
    await this.#createUnlessThere(() => client.create(LEASE, lease));
  }

  /** Reports a new boot ID, and the conditions with which the kubelet and the node monitoring agent start. */
  async #reportBoot({ status }: Node): Promise<void> {
    const { client, clock } = this.#context.parts;
    const now = clock.now();
    const healed = (status?.conditions ?? [])
      .filter((one) => MONITORED.has(one.type) && one.status !== 'True')
      .map(
        ({ type }) => ({ type, status: 'True', reason: `${type.replace(/Ready$/, '')}IsReady`, message: '' }) as const,
      );
    const conditions = [...nodeConditions(false, 'container runtime network not ready'), ...healed];
    const changed = withConditions(status?.conditions, conditions, timestamp(now));
    const patch = { status: { nodeInfo: { bootID: bootIdOf(this.#instance) }, conditions: addTimes(changed, now) } };
    await client.patch(NODE, { name: this.nodeName }, patch, { subresource: 'status', type: 'strategic' });
  }

  async #createUnlessThere(create: () => Promise<unknown>): Promise<void> {
    try {
      await create();
    } catch (error) {
      if (!isAnyConflict(error)) throw error;
    }
  }

  async #renewLease(): Promise<void> {
    const { client, clock } = this.#context.parts;
    const renewal = { spec: { renewTime: microTime(clock.now()), holderIdentity: this.nodeName } };
    await client.patch(LEASE, { name: this.nodeName, namespace: LEASE_NAMESPACE }, renewal);
  }

  #nodeLooksDead(): boolean {
    const node = this.#context.parts.caches.of(NODE).get({ name: this.nodeName });
    return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status !== 'True') ?? false;
  }

  /** Reports this node as Ready, or as not ready with a reason. */
  async #report(trouble?: string): Promise<void> {
    const { client, clock, caches } = this.#context.parts;
    const now = clock.now();
    const present = caches.of(NODE).get({ name: this.nodeName })?.status?.conditions;
    const conditions = withConditions(present, nodeConditions(trouble === undefined, trouble ?? ''), timestamp(now));
    const patch = { status: { conditions: addTimes(conditions, now) } };
    await client.patch(NODE, { name: this.nodeName }, patch, { subresource: 'status', type: 'strategic' });
  }

  /** Accelerators become available after their device plugin has started. */
  async #offerDevices(): Promise<void> {
    const { parts, options } = this.#context;
    const found = devices(this.#instance);
    if (Object.keys(found).length === 0) return;
    await parts.clock.sleep(options.devicePluginMs, this.#signal);
    // a node has either the device plugin or the DRA driver
    const offered = Object.fromEntries(
      Object.entries(found).filter(([name]) => !this.#drivers.runs(DRIVER_OF_RESOURCE[name] ?? '')),
    );
    if (Object.keys(offered).length === 0) return;
    await this.#persist('devices', async () => {
      const patch = { status: { capacity: offered, allocatable: offered } };
      await parts.client.patch(NODE, { name: this.nodeName }, patch, { subresource: 'status' });
    });
  }

  async #startPod(pod: Pod): Promise<void> {
    const { parts, options, random, nextPodIp } = this.#context;
    const uid = pod.metadata.uid ?? '';
    const hostIp = this.#instance.ipv6Address ?? this.#instance.privateIp;
    const [shortest, longest] = options.podStartMs;
    const isStarting = (): boolean => !this.#signal.aborted && this.#stages.get(uid) === 'starting';
    await this.#persist('pod', () => this.#writeStatus(pod, starting(pod, hostIp, parts.clock.now())), isStarting);
    await this.#persist('claims', () => requireClaims(pod, parts), isStarting);
    await parts.clock.sleep(shortest + random() * (longest - shortest), this.#signal);
    const podIp = nextPodIp(this.#instance.ipv6Address !== undefined);
    const startedAt = parts.clock.now();
    const report = (upMs: number, stillWanted: () => boolean): Promise<void> =>
      this.#persist(
        'pod',
        () =>
          this.#writeStatus(
            pod,
            running(this.#newest(pod), { podIp, hostIp, startedAt, upMs, now: parts.clock.now() }),
          ),
        stillWanted,
      );
    await report(0, isStarting);
    if (!isStarting()) return;
    this.#stages.set(uid, 'running');
    this.#drivers.put(pod);
    const isRunning = (): boolean => !this.#signal.aborted && this.#stages.get(uid) === 'running';
    void this.#becomeReady(pod, (upMs) => report(upMs, isRunning), isRunning);
    for (const { name } of pod.spec.containers)
      this.#context.report(pod, 'Normal', 'Started', `Started container ${name}`);
    if ((pod.spec.restartPolicy ?? 'Always') === 'Always') return;
    await parts.clock.sleep(durationMs(pod), this.#signal);
    if (isRunning()) this.#stages.set(uid, 'finished');
    const isOver = (): boolean => !this.#signal.aborted && this.#stages.get(uid) === 'finished';
    await this.#persist('pod', () => this.#writeStatus(pod, finishedStatus(pod, parts.clock.now())), isOver);
  }

  /** Reports containers as ready if they become ready some time after their start. */
  async #becomeReady(pod: Pod, report: (upMs: number) => Promise<void>, isRunning: () => boolean): Promise<void> {
    const { clock } = this.#context.parts;
    const startedAt = clock.now();
    for (const afterMs of readyTimesMs(pod)) {
      if (afterMs === 0) continue;
      await clock.sleep(startedAt + afterMs - clock.now(), this.#signal);
      if (!isRunning()) return;
      await report(afterMs);
    }
  }

  /** Returns the state of the pod in the cache. A pod that is gone, and its successor, are not in the cache. */
  #newest(pod: Pod): Pod {
    const found = this.#context.parts.caches.of(POD).get(pod.metadata);
    return found?.metadata.uid === pod.metadata.uid ? (found ?? pod) : pod;
  }

  /** Updates the newest state of the pod. Ignores a pod that is gone. */
  async #writeStatus(pod: Pod, status: Record<string, unknown>): Promise<void> {
    const patch = { metadata: { uid: pod.metadata.uid }, status: { ...status, ...complete(status.conditions) } };
    try {
      await this.#context.parts.client.patch(POD, pod.metadata, patch, { subresource: 'status', type: 'strategic' });
    } catch (error) {
      // A successor with the same name has another UID, which leads to a conflict.
      if (!isGone(error) && !isAnyConflict(error)) throw error;
    }
  }

  async #stopPod(pod: Pod): Promise<void> {
    const { parts, options } = this.#context;
    const graceMs = 1000 * (pod.metadata.deletionGracePeriodSeconds ?? 30);
    for (const { name } of pod.spec.containers)
      this.#context.report(pod, 'Normal', 'Killing', `Stopping container ${name}`);
    await parts.clock.sleep(Math.min(graceMs, preStopMs(pod) + options.podStopMs), this.#signal);
    if (this.#hangs) this.#stages.delete(pod.metadata.uid ?? '');
    else if (!this.#signal.aborted) await this.#persist('pod', () => this.#deletePod(pod));
  }

  async #deletePod(pod: Pod): Promise<void> {
    const { client } = this.#context.parts;
    try {
      await client.delete(POD, pod.metadata, { gracePeriodSeconds: 0, uid: pod.metadata.uid });
    } catch (error) {
      if (!isGone(error) && !isAnyConflict(error)) throw error;
    }
  }

  async #killPod(pod: Pod): Promise<void> {
    if (pod.metadata.deletionTimestamp) return this.#deletePod(pod);
    if (pod.status?.phase === 'Pending' || pod.status?.phase === 'Running')
      await this.#writeStatus(pod, killedStatus(pod, this.#context.parts.clock.now()));
  }

  /** Retries until the step succeeds or the machine ends. */
  async #persist(what: string, step: () => Promise<void>, stillWanted: () => boolean = () => true): Promise<void> {
    const { clock } = this.#context.parts;
    while (!this.#signal.aborted && stillWanted()) {
      if (!this.#hangs && (await this.#once(what, step))) return;
      await clock.sleep(RETRY_MS, this.#signal);
    }
  }

  /** Returns whether this step succeeded. Logs a failure, unless the machine or the cluster has ended. */
  async #once(what: string, step: () => Promise<void>): Promise<boolean> {
    const { parts } = this.#context;
    try {
      await step();
      return true;
    } catch (error) {
      const expected = parts.signal.aborted || isGone(error) || (error instanceof ApiError && error.status === 409);
      if (!expected) parts.log(`kubelet ${this.nodeName}, ${what}: ${String(error)}`);
      return false;
    }
  }
}

/**
 * A strategic merge patch keeps omitted fields. Therefore a condition without a reason must remove its previous reason
 * explicitly.
 */
const complete = (conditions: unknown): { readonly conditions?: readonly unknown[] } =>
  Array.isArray(conditions)
    ? { conditions: conditions.map((condition) => ({ reason: null, message: null, ...condition })) }
    : {};
