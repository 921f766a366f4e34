/** DRA drivers of one node. A pod with an annotation stands for a driver: while it runs, the node publishes devices. */
import { NODE, POD, type Pod, RESOURCE_CLAIM, RESOURCE_SLICE } from '#api/objects';
import { messageOf } from '#lib';
import type { LocalInstance } from '../../../aws/types.ts';
import { isGone } from '../../../client.ts';
import type { Parts, Report } from '../../../parts.ts';
import type { KubeletOptions } from '../options.ts';
import { type DriverPool, driverOf, poolsOf, slicesOf } from './driver-slices.ts';

/** Time after which a kubelet removes the slices of a driver that has stopped. A new pod may replace it meanwhile. */
const WITHDRAW_MS = 30_000;
const RETRY_MS = 1_000;

interface Published {
  readonly text: string;
  readonly generation: number;
  /** Names of the slices. */
  readonly slices: readonly string[];
}

const NOTHING: Published = { text: '[]', generation: 0, slices: [] };

export interface DriverPluginsContext {
  readonly parts: Parts;
  readonly instance: LocalInstance;
  readonly report: Report;
  readonly options: Pick<KubeletOptions, 'draDriverMs'>;
  /** Aborted when the machine ends. */
  readonly signal: AbortSignal;
}

export class DriverPlugins {
  readonly #context: DriverPluginsContext;
  /** Running pods of drivers, by UID. */
  readonly #pods = new Map<string, Pod>();
  readonly #published = new Map<string, Published>();
  /** Latest work for each driver. Work of one driver is sequential. */
  readonly #work = new Map<string, Promise<void>>();

  constructor(context: DriverPluginsContext) {
    this.#context = context;
  }

  runs(driver: string): boolean {
    return this.#podOf(driver) !== undefined;
  }

  /** Publishes the devices of a driver whose pod runs or has changed. */
  put(pod: Pod): void {
    const driver = driverOf(pod);
    if (driver === undefined) return;
    const isNew = !this.#pods.has(pod.metadata.uid ?? '');
    this.#pods.set(pod.metadata.uid ?? '', pod);
    this.#plan(driver, isNew ? this.#context.options.draDriverMs : 0);
  }

  /** Withdraws the devices of a driver after a delay, unless another pod of this driver runs. */
  remove(pod: Pod): void {
    const driver = driverOf(pod);
    if (driver !== undefined && this.#pods.delete(pod.metadata.uid ?? '')) this.#plan(driver, WITHDRAW_MS);
  }

  #podOf(driver: string): Pod | undefined {
    return [...this.#pods.values()].findLast((pod) => driverOf(pod) === driver);
  }

  #plan(driver: string, delayMs: number): void {
    const before = this.#work.get(driver) ?? Promise.resolve();
    this.#work.set(
      driver,
      before.then(() => this.#publish(driver, delayMs)),
    );
  }

  async #publish(driver: string, delayMs: number): Promise<void> {
    const { parts, signal, instance } = this.#context;
    if (delayMs > 0) await parts.clock.sleep(delayMs, signal);
    while (!signal.aborted) {
      try {
        await this.#replace(driver);
        return;
      } catch (error) {
        if (signal.aborted) return;
        parts.log(`DRA driver ${driver} on ${instance.privateDnsName}: ${messageOf(error)}`);
        await parts.clock.sleep(RETRY_MS, signal);
      }
    }
  }

  /** Publishes the present pools as a new generation, and then removes the slices of the previous generation. */
  async #replace(driver: string): Promise<void> {
    const { client } = this.#context.parts;
    const before = this.#published.get(driver) ?? NOTHING;
    const pools = this.#poolsOf(driver);
    const text = JSON.stringify(pools);
    if (pools === undefined || text === before.text) return;
    const node = await client.find(NODE, { name: this.#context.instance.privateDnsName });
    if (node === undefined) return;
    const generation = before.generation + 1;
    const slices: string[] = [];
    for (const slice of pools.flatMap((pool) => slicesOf(pool, { driver, node, generation })))
      slices.push((await client.create(RESOURCE_SLICE, slice)).metadata.name);
    this.#published.set(driver, { text, generation, slices });
    for (const name of before.slices) await this.#delete(name);
  }

  async #delete(name: string): Promise<void> {
    try {
      await this.#context.parts.client.delete(RESOURCE_SLICE, { name });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /** Returns undefined if the annotation of the driver is not valid. */
  #poolsOf(driver: string): readonly DriverPool[] | undefined {
    const pod = this.#podOf(driver);
    if (pod === undefined) return [];
    try {
      return poolsOf(pod, this.#context.instance);
    } catch (error) {
      this.#context.report(pod, 'Warning', 'InvalidDevices', messageOf(error));
      return undefined;
    }
  }
}

/** @throws Error if a claim of the pod is not allocated, or not reserved for the pod */
export async function requireClaims(pod: Pod, { client, caches }: Parts): Promise<void> {
  const { spec, status } = caches.of(POD).get(pod.metadata) ?? pod;
  for (const { name, resourceClaimName } of spec.resourceClaims ?? []) {
    const created = status?.resourceClaimStatuses?.find((each) => each.name === name);
    const claimName = resourceClaimName ?? created?.resourceClaimName;
    if (claimName === undefined) continue;
    const claim = await client.find(RESOURCE_CLAIM, { name: claimName, namespace: pod.metadata.namespace });
    const isReserved = claim?.status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid);
    if (claim?.status?.allocation === undefined || isReserved !== true)
      throw new Error(`ResourceClaim ${claimName} is not allocated and reserved for pod ${pod.metadata.name}`);
  }
}
