/** Machines that join a cluster as nodes after they are switched on. Replaces EC2 and the kubelets. */
import { randomUUID } from 'node:crypto';
import { NODE, type Node, type NodeClaim, POD, type Pod, UNREGISTERED_TAINT } from '#api/objects';
import type { Clock } from '#lib/clock';
import type { Caches, ObjectClient } from '#local/api-server';

const BOOT_MS = 20_000;
const STOP_MS = 15_000;

export interface Machine {
  readonly id: string;
  readonly launched: NodeClaim;
  readonly usdPerHour: number;
  isStopping: boolean;
}

interface RackOptions {
  readonly client: ObjectClient;
  readonly caches: Caches;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export class Rack {
  readonly #options: RackOptions;
  readonly #machines = new Map<string, Machine>();

  constructor(options: RackOptions) {
    this.#options = options;
    options.caches.of(POD).subscribe((pod) => {
      if (pod !== undefined && this.#hosts(pod)) void this.#follow(pod).catch(() => undefined);
    });
  }

  list(): readonly Machine[] {
    return [...this.#machines.values()];
  }

  get(providerId = ''): Machine | undefined {
    return this.#machines.get(providerId);
  }

  /** Switches a machine on. @param claim NodeClaim with the labels and amounts of the machine */
  start(claim: NodeClaim, usdPerHour: number): Machine {
    const id = `machine-${randomUUID().slice(0, 8)}`;
    const providerID = `machines://${id}`;
    const launched = { ...claim, status: { ...claim.status, providerID } };
    const machine: Machine = { id, launched, usdPerHour, isStopping: false };
    this.#machines.set(providerID, machine);
    void this.#join(machine, providerID);
    return machine;
  }

  async stop(machine: Machine): Promise<void> {
    if (machine.isStopping) return;
    machine.isStopping = true;
    await this.#options.clock.sleep(STOP_MS, this.#options.signal);
    this.#machines.delete(`machines://${machine.id}`);
  }

  async #join({ id, launched }: Machine, providerID: string): Promise<void> {
    const { client, clock, signal } = this.#options;
    await clock.sleep(BOOT_MS, signal);
    if (signal.aborted || !this.#machines.has(providerID)) return;
    const { capacity = {}, allocatable = {} } = launched.status ?? {};
    const { taints = [], startupTaints = [] } = launched.spec;
    const node: Node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: id, labels: { ...launched.metadata.labels, 'kubernetes.io/hostname': id } },
      spec: { providerID, taints: [...taints, ...startupTaints, UNREGISTERED_TAINT] },
      status: { capacity, allocatable, conditions: [{ type: 'Ready', status: 'True', reason: 'Started' }] },
    };
    await client.create(NODE, node);
  }

  #hosts({ spec }: Pod): boolean {
    return spec.nodeName?.startsWith('machine-') ?? false;
  }

  /** Starts a bound pod, and removes a deleted pod. */
  async #follow(pod: Pod): Promise<void> {
    const { client } = this.#options;
    const { name, namespace = 'default', deletionTimestamp, uid } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      await client.delete(POD, { name, namespace }, { uid, gracePeriodSeconds: 0 });
      return;
    }
    if (pod.status?.phase === 'Running') return;
    const status = {
      phase: 'Running',
      conditions: [...(pod.status?.conditions ?? []), { type: 'Ready', status: 'True' }],
    };
    await client.patch(POD, { name, namespace }, { status }, { subresource: 'status' });
  }
}
