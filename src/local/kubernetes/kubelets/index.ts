/** The machines of the local AWS as nodes of the local cluster. */
import { NODE, POD } from '../../../api/kinds.ts';
import type { InstanceState, LocalInstance, LocalInstances } from '../../aws/types.ts';
import { isGone } from '../../client.ts';
import { eventReporter, type Parts } from '../../parts.ts';
import { startAttachments } from './attachments.ts';
import { Kubelet, type KubeletContext } from './kubelet.ts';
import { providerIdOf } from './node-object.ts';
import { KUBELET_DEFAULTS, type KubeletOptions } from './options.ts';
import { decodeUserData, type KubeletConfig } from './userdata/index.ts';

export interface KubeletsOptions {
  readonly parts: Parts;
  readonly instances: LocalInstances;
  readonly region: string;
  /** A machine whose user data names another cluster or endpoint never joins. */
  readonly clusterName: string;
  readonly endpoint: string;
  readonly kubeletVersion: string;
  readonly options?: Partial<KubeletOptions> | undefined;
}

export interface Kubelets {
  /** A fault: the kubelet of an instance or node stops reporting and reacting. */
  hang(instanceOrNode: string): void;
  /** Ends that fault. */
  resume(instanceOrNode: string): void;
}

/** A small seeded generator (mulberry32): the same seed makes the same delays. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const isSame = (left: string, right: string): boolean => left.replace(/\/$/, '') === right.replace(/\/$/, '');

const OFF: ReadonlySet<InstanceState> = new Set(['stopping', 'stopped', 'shutting-down', 'terminated']);

/** Lets every running instance join after its boot and die with it, until `parts.signal` ends. */
export async function startKubelets(setup: KubeletsOptions): Promise<Kubelets> {
  const { parts, instances, clusterName, endpoint } = setup;
  const { caches, clock, client, signal, log } = parts;
  const options = { ...KUBELET_DEFAULTS, ...setup.options };
  const random = seededRandom(options.seed);
  let pods = 0;
  const context: KubeletContext = {
    parts,
    options,
    region: setup.region,
    kubeletVersion: setup.kubeletVersion,
    random,
    report: eventReporter('kubelet', parts),
    nextPodIp: () => {
      pods = (pods + 1) % 0x3f_0000;
      return `100.${64 + (pods >> 16)}.${(pods >> 8) & 255}.${pods & 255}`;
    },
  };
  /** By instance id, from power-on. */
  const machines = new Map<string, Kubelet | 'booting'>();

  const settingsOf = (instance: LocalInstance): KubeletConfig | undefined => {
    try {
      const config = decodeUserData(instance.userData);
      const wrong =
        (config.clusterName !== undefined && config.clusterName !== clusterName && `cluster ${config.clusterName}`) ||
        (config.endpoint !== undefined && !isSame(config.endpoint, endpoint) && `endpoint ${config.endpoint}`);
      if (!wrong) return config;
      log(`${instance.id} does not join: its user data is for ${wrong}`);
    } catch (error) {
      log(`${instance.id} does not join: ${error instanceof Error ? error.message : String(error)}`);
    }
    return undefined;
  };

  const powerOn = async (instance: LocalInstance): Promise<void> => {
    if (machines.has(instance.id) || !instance.joins) return;
    machines.set(instance.id, 'booting');
    const jitter = 1 + options.bootJitter * (2 * random() - 1);
    await clock.sleep(options.bootMs * jitter + instance.bootDelayMs, signal);
    if (signal.aborted || instance.state !== 'running') return;
    const config = settingsOf(instance);
    if (!config) return;
    const kubelet = new Kubelet(instance, config, context);
    machines.set(instance.id, kubelet);
    await kubelet.run();
  };

  const powerOff = async (instance: LocalInstance): Promise<void> => {
    const machine = machines.get(instance.id);
    machines.delete(instance.id);
    if (machine instanceof Kubelet) await machine.die();
    if (instance.state !== 'terminated') return;
    // The cloud's node controller removes the nodes of machines that are no more.
    const node = caches.of(NODE).get({ name: instance.privateDnsName });
    if (node?.spec?.providerID !== providerIdOf(instance) || node.metadata.deletionTimestamp) return;
    await client.delete(NODE, node.metadata, { uid: node.metadata.uid });
  };

  const guard = (what: string, work: Promise<void>): void => {
    work.catch((error: unknown) => {
      if (!signal.aborted && !isGone(error)) log(`${what}: ${String(error)}`);
    });
  };
  const follow = (instance: LocalInstance): void => {
    if (signal.aborted) return;
    if (instance.state === 'running') guard(instance.id, powerOn(instance));
    else if (OFF.has(instance.state)) guard(instance.id, powerOff(instance));
  };

  const kubelets = (): readonly Kubelet[] => [...machines.values()].filter((one) => one instanceof Kubelet);
  caches.of(POD).subscribe((now, before) => {
    const nodeName = (now ?? before)?.spec.nodeName;
    if (nodeName === undefined) return;
    for (const kubelet of kubelets()) {
      if (kubelet.nodeName !== nodeName) continue;
      if (now) kubelet.pod(now);
      else if (before) kubelet.podGone(before);
    }
  });
  await Promise.all([caches.of(POD).synced, caches.of(NODE).synced, startAttachments(parts)]);
  const unsubscribe = instances.subscribe(follow);
  signal.addEventListener('abort', unsubscribe, { once: true });
  for (const instance of instances.list()) follow(instance);

  const find = (name: string): Kubelet => {
    const machine = machines.get(name) ?? kubelets().find((kubelet) => kubelet.nodeName === name);
    if (machine instanceof Kubelet) return machine;
    throw new RangeError(`Cannot find a kubelet for ${name}: no instance or node of this name has joined`);
  };
  return { hang: (name) => find(name).hang(true), resume: (name) => find(name).hang(false) };
}
