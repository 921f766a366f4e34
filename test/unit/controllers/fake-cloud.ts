/** Cloud provider with three types in two zones that launches immediately and takes ten seconds to terminate. */
import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  NODE_CLAIM,
  type NodeClaim,
  OS_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import { NODE_CLASS_KIND } from '#aws/node-classes';
import { type AdjustTypes, type CloudProvider, NodeClaimNotFound, type RegistrationHook } from '#cloud';
import { type InstanceType, orderByPrice, quantityList, Requirements } from '#engine/model';
import { cheapestOffering } from '#engine/testing';
import type { Clock } from '#lib/clock';

const GI = 1024 ** 3;
const TERMINATION_MS = 10_000;

export function instanceType(name: string, cpu: number, usdPerHour: number): InstanceType {
  const zones = ['zone-a', 'zone-b'];
  const offerings = zones.flatMap((zone) =>
    [
      { capacityType: 'on-demand', price: usdPerHour },
      { capacityType: 'spot', price: usdPerHour * 0.4 },
    ].map(({ capacityType, price }) => ({
      requirements: [
        { key: ZONE_LABEL, operator: 'In' as const, values: [zone] },
        { key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: [capacityType] },
      ],
      usdPerHour: price,
      available: true,
    })),
  );
  return {
    name,
    requirements: [
      { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [name] },
      { key: ARCH_LABEL, operator: 'In', values: ['amd64'] },
      { key: OS_LABEL, operator: 'In', values: ['linux'] },
      { key: ZONE_LABEL, operator: 'In', values: zones },
      { key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['on-demand', 'spot'] },
    ],
    capacity: { cpu: cpu * 1000, memory: cpu * 4 * GI, pods: 58, 'ephemeral-storage': 20 * GI },
    overhead: { kubeReserved: { cpu: 100, memory: GI / 4 }, systemReserved: {}, evictionThreshold: {} },
    offerings,
  };
}

export interface Instance {
  readonly claimUid: string;
  readonly created: NodeClaim;
  terminatedMs?: number;
}

export class FakeCloud implements CloudProvider {
  readonly name = 'fake';
  readonly nodeClassKinds = [NODE_CLASS_KIND];
  readonly repairPolicies = [];
  registrationHooks: readonly RegistrationHook[] = [];
  readonly instances = new Map<string, Instance>();
  readonly #clock: Clock;
  types: readonly InstanceType[] = [
    instanceType('m.large', 2, 0.1),
    instanceType('m.xlarge', 4, 0.2),
    instanceType('m.2xlarge', 8, 0.4),
  ];
  /** Runs before a launch. A throw makes the launch fail. */
  beforeCreate: (claim: NodeClaim) => void = () => undefined;
  drifted: string | undefined;
  creations = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async instanceTypes(): Promise<readonly InstanceType[]> {
    return this.types;
  }

  async create(claim: NodeClaim, adjust: AdjustTypes = async (types) => types): Promise<NodeClaim> {
    this.beforeCreate(claim);
    const known = [...this.instances.values()].find(({ claimUid }) => claimUid === claim.metadata.uid);
    if (known) return known.created;
    this.creations += 1;
    const providerID = `fake:///i-${this.creations}`;
    const created = this.#bought(claim, providerID, await adjust(this.types));
    this.instances.set(providerID, { claimUid: claim.metadata.uid ?? '', created });
    return created;
  }

  #bought(claim: NodeClaim, providerID: string, types: readonly InstanceType[]): NodeClaim {
    const requirements = Requirements.fromRequirements(claim.spec.requirements);
    const wanted = requirements.get(INSTANCE_TYPE_LABEL);
    const [type] = orderByPrice(
      types.filter(({ name }) => wanted.has(name)),
      requirements,
    );
    const offering = type && cheapestOffering(type, requirements);
    if (!type || !offering) throw new Error(`nothing on offer for ${claim.metadata.name}`);
    const [zone, capacityType] = [ZONE_LABEL, CAPACITY_TYPE_LABEL].map(
      (key) => offering.requirements.find((requirement) => requirement.key === key)?.values?.[0] ?? '',
    );
    const allocatable = { ...type.capacity, cpu: (type.capacity.cpu ?? 0) - 100 };
    return {
      ...claim,
      kind: NODE_CLAIM.kind,
      metadata: {
        ...claim.metadata,
        labels: {
          [INSTANCE_TYPE_LABEL]: type.name,
          [ZONE_LABEL]: zone ?? '',
          [CAPACITY_TYPE_LABEL]: capacityType ?? '',
          [ARCH_LABEL]: 'amd64',
          [OS_LABEL]: 'linux',
        },
      },
      status: { providerID, capacity: quantityList(type.capacity), allocatable: quantityList(allocatable) },
    };
  }

  async reboot(): Promise<void> {}

  async delete(claim: NodeClaim): Promise<void> {
    const instance = this.#present(claim.status?.providerID ?? '');
    instance.terminatedMs ??= this.#clock.now() + TERMINATION_MS;
  }

  async get(providerId: string): Promise<NodeClaim> {
    return this.#present(providerId).created;
  }

  async list(): Promise<readonly NodeClaim[]> {
    return [...this.instances.values()]
      .filter(({ terminatedMs }) => terminatedMs === undefined)
      .map(({ created }) => created);
  }

  async isDrifted(): Promise<string | undefined> {
    return this.drifted;
  }

  #present(providerId: string): Instance {
    const instance = this.instances.get(providerId);
    if (instance?.terminatedMs !== undefined && instance.terminatedMs <= this.#clock.now()) {
      this.instances.delete(providerId);
    }
    const found = this.instances.get(providerId);
    if (found === undefined) throw new NodeClaimNotFound(`instance ${providerId} is gone`);
    return found;
  }
}
