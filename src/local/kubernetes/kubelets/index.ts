/** Runs the instances of the local AWS as nodes of the local cluster. */

import { NODE, POD } from '#api/objects';
import { pseudoRandom } from '#engine/model';
import type { Clock } from '#lib/clock';
import type { InstanceState, LocalInstance, LocalInstances } from '../../aws/types.ts';
import type { Caches } from '../../cache.ts';
import { isGone, type ObjectClient } from '../../client.ts';
import { eventReporter, type Parts } from '../../parts.ts';
import { startAttachments } from './attachments.ts';
import { Kubelet, type KubeletContext } from './kubelet.ts';
import { providerIdOfInstance } from './node-object.ts';
import { KUBELET_DEFAULTS, type KubeletOptions } from './options.ts';
import { decodeUserData, type KubeletConfig } from './userdata/index.ts';

export interface KubeletsOptions {
  readonly parts: Parts;
  readonly instances: LocalInstances;
  readonly region: string;
  /** Instances whose user data contains another cluster or endpoint never join. */
  readonly clusterName: string;
  readonly endpoint: string;
  readonly kubeletVersion: string;
  readonly options?: Partial<KubeletOptions> | undefined;
}

export interface Kubelets {
  /** Injects a fault: the kubelet of an instance or node stops reporting and reacting. */
  hang(instanceOrNode: string): void;
  /** Ends this fault. */
  resume(instanceOrNode: string): void;
}

const isSame = (left: string, right: string): boolean => left.replace(/\/$/, '') === right.replace(/\/$/, '');

const OFF: ReadonlySet<InstanceState> = new Set(['stopping', 'stopped', 'shutting-down', 'terminated']);

const MOST_CONFIGS = 100;

/**
 * Lets every running instance join after its boot, and removes its kubelet when the instance ends, until `parts.signal`
 * is aborted.
 */
export async function startKubelets(setup: KubeletsOptions): Promise<Kubelets> {
  return new Machines(setup).start();
}

class Machines {
  readonly #parts: Parts;
  readonly #instances: LocalInstances;
  readonly #clusterName: string;
  readonly #endpoint: string;
  readonly #caches: Caches;
  readonly #clock: Clock;
  readonly #client: ObjectClient;
  readonly #signal: AbortSignal;
  readonly #log: (message: string) => void;
  readonly #options: KubeletOptions;
  readonly #random: () => number;
  readonly #context: KubeletContext;
  /** Kubelets by instance id, from the start of the instance. */
  readonly #machines: Map<string, Kubelet | 'booting'>;
  /** Running kubelets by the name of their node. A machine may reuse the address of a terminating machine. */
  readonly #byNode = new Map<string, Set<Kubelet>>();
  /** Parsed configurations by user data. */
  readonly #configs = new Map<string, KubeletConfig>();
  /** Number of assigned addresses. */
  #podIps = 0;

  constructor(setup: KubeletsOptions) {
    this.#parts = setup.parts;
    this.#instances = setup.instances;
    this.#clusterName = setup.clusterName;
    this.#endpoint = setup.endpoint;
    this.#caches = this.#parts.caches;
    this.#clock = this.#parts.clock;
    this.#client = this.#parts.client;
    this.#signal = this.#parts.signal;
    this.#log = this.#parts.log;
    this.#options = { ...KUBELET_DEFAULTS, ...setup.options };
    this.#random = pseudoRandom(this.#options.seed);
    this.#context = {
      parts: this.#parts,
      options: this.#options,
      region: setup.region,
      kubeletVersion: setup.kubeletVersion,
      random: this.#random,
      report: eventReporter('kubelet', this.#parts),
      nextPodIp: (isIpv6) => this.#nextPodIp(isIpv6),
    };
    this.#machines = new Map<string, Kubelet | 'booting'>();
  }

  async start(): Promise<Kubelets> {
    this.#caches.of(POD).subscribe((now, before) => {
      const nodeName = (now ?? before)?.spec.nodeName;
      if (nodeName === undefined) return;
      for (const kubelet of this.#byNode.get(nodeName) ?? []) {
        if (now) kubelet.pod(now);
        else if (before) kubelet.podGone(before);
      }
    });
    await Promise.all([this.#caches.of(POD).synced, this.#caches.of(NODE).synced, startAttachments(this.#parts)]);
    const unsubscribe = this.#instances.subscribe((instance) => this.#follow(instance));
    this.#signal.addEventListener('abort', unsubscribe, { once: true });
    for (const instance of this.#instances.list()) this.#follow(instance);
    return { hang: (name) => this.#find(name).hang(true), resume: (name) => this.#find(name).hang(false) };
  }

  #nextPodIp(isIpv6: boolean): string {
    this.#podIps = (this.#podIps + 1) % 0x3f_0000;
    if (isIpv6) return `fd00:100::${this.#podIps.toString(16)}`;
    return `100.${64 + (this.#podIps >> 16)}.${(this.#podIps >> 8) & 255}.${this.#podIps & 255}`;
  }

  /** Parses user data once, because machines of one launch template share it. */
  #configOf(userData: string): KubeletConfig {
    const config = this.#configs.get(userData) ?? decodeUserData(userData);
    if (this.#configs.size >= MOST_CONFIGS) this.#configs.clear();
    this.#configs.set(userData, config);
    return config;
  }

  #settingsOf(instance: LocalInstance): KubeletConfig | undefined {
    try {
      const config = this.#configOf(instance.userData);
      const wrong =
        (config.clusterName !== undefined &&
          config.clusterName !== this.#clusterName &&
          `cluster ${config.clusterName}`) ||
        (config.endpoint !== undefined && !isSame(config.endpoint, this.#endpoint) && `endpoint ${config.endpoint}`);
      if (!wrong) return config;
      this.#log(`${instance.id} does not register: its user data is for ${wrong}`);
    } catch (error) {
      this.#log(`${instance.id} does not register: ${error instanceof Error ? error.message : String(error)}`);
    }
    return undefined;
  }

  async #powerOn(instance: LocalInstance): Promise<void> {
    if (this.#machines.has(instance.id) || !instance.joins) return;
    this.#machines.set(instance.id, 'booting');
    const jitter = 1 + this.#options.bootJitter * (2 * this.#random() - 1);
    await this.#clock.sleep(this.#options.bootMs * jitter + instance.bootDelayMs, this.#signal);
    if (this.#signal.aborted || instance.state !== 'running') return;
    const config = this.#settingsOf(instance);
    if (!config) return;
    const kubelet = new Kubelet(instance, config, this.#context);
    this.#machines.set(instance.id, kubelet);
    const ofNode = this.#byNode.get(kubelet.nodeName) ?? new Set();
    this.#byNode.set(kubelet.nodeName, ofNode.add(kubelet));
    await kubelet.run();
  }

  async #powerOff(instance: LocalInstance): Promise<void> {
    const machine = this.#machines.get(instance.id);
    this.#machines.delete(instance.id);
    if (machine instanceof Kubelet) this.#forget(machine);
    if (machine instanceof Kubelet) await machine.die();
    if (instance.state !== 'terminated') return;
    // Deletes the nodes of terminated machines, as the cloud's node controller does.
    const node = this.#caches.of(NODE).get({ name: instance.privateDnsName });
    if (node?.spec?.providerID !== providerIdOfInstance(instance) || node.metadata.deletionTimestamp) return;
    await this.#client.delete(NODE, node.metadata, { uid: node.metadata.uid });
  }

  /** Ends the kubelet of an earlier boot. */
  #crashBefore({ id, boots }: LocalInstance): void {
    const machine = this.#machines.get(id);
    if (!(machine instanceof Kubelet) || machine.boots === boots) return;
    this.#machines.delete(id);
    this.#forget(machine);
    machine.crash();
  }

  #forget(kubelet: Kubelet): void {
    const ofNode = this.#byNode.get(kubelet.nodeName);
    ofNode?.delete(kubelet);
    if (ofNode?.size === 0) this.#byNode.delete(kubelet.nodeName);
  }

  #guard(what: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.#signal.aborted && !isGone(error)) this.#log(`${what}: ${String(error)}`);
    });
  }

  #follow(instance: LocalInstance): void {
    if (this.#signal.aborted) return;
    if (instance.state === 'running') {
      this.#crashBefore(instance);
      this.#guard(instance.id, this.#powerOn(instance));
    }
    if (OFF.has(instance.state)) this.#guard(instance.id, this.#powerOff(instance));
  }

  #kubelets(): readonly Kubelet[] {
    return [...this.#machines.values()].filter((one) => one instanceof Kubelet);
  }

  #find(name: string): Kubelet {
    const machine = this.#machines.get(name) ?? this.#kubelets().find((kubelet) => kubelet.nodeName === name);
    if (machine instanceof Kubelet) return machine;
    throw new RangeError(`Cannot find a kubelet for ${name}: no instance or node with this name has registered`);
  }
}
