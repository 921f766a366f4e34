/** Provider of machines of a list with prices. Its NodeClass has the list and the image of the machines. */
import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  type Conditioned,
  INSTANCE_TYPE_LABEL,
  type Kind,
  type KubeObject,
  type NodeClaim,
  type NodePool,
  OS_LABEL,
  READY,
  setCondition,
  ZONE_LABEL,
} from '#api/objects';
import {
  type CloudProvider,
  type ConfigureProvider,
  InsufficientCapacity,
  NodeClaimNotFound,
  type NodeClassKind,
  NodeClassNotReady,
  type ProviderPorts,
} from '#cloud';
import { allocatable, type InstanceType, quantityList, Requirements } from '#engine/model';
import { writeChanges } from '#kube/client';
import { type Reconciler, settled } from '#kube/reconcilers';
import { parseSettings } from '#process/settings';
import type { Machine, Rack } from './rack.ts';

const GI = 1024 ** 3;
const ZONE = 'hall-1';
const IMAGE_ANNOTATION = 'machines.test/image';

export interface MachineClass extends Conditioned {
  readonly spec: {
    readonly image: string;
    readonly machines: readonly {
      readonly name: string;
      readonly cpu: number;
      readonly memoryGiB: number;
      readonly usdPerHour: number;
    }[];
  };
}

const KIND: Kind<MachineClass> = {
  group: 'machines.test',
  version: 'v1',
  kind: 'MachineClass',
  plural: 'machineclasses',
  namespaced: false,
};

export const MACHINE_CLASS: NodeClassKind & Kind<MachineClass> = {
  ...KIND,
  conditions: { root: READY, dependents: ['MachinesListed'] },
  hashAnnotation: IMAGE_ANNOTATION,
  selectionsOf: (nodeClass) => [['Machines', (nodeClass as MachineClass).spec.machines.map(({ name }) => name)]],
};

export const MACHINE_CLASS_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${KIND.plural}.${KIND.group}` },
  spec: {
    group: KIND.group,
    scope: 'Cluster',
    names: { kind: KIND.kind, listKind: `${KIND.kind}List`, plural: KIND.plural, singular: 'machineclass' },
    versions: [
      {
        name: KIND.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

function instanceType({ name, cpu, memoryGiB, usdPerHour }: MachineClass['spec']['machines'][number]): InstanceType {
  const place = [
    { key: ZONE_LABEL, operator: 'In' as const, values: [ZONE] },
    { key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: ['on-demand'] },
  ];
  return {
    name,
    requirements: [
      ...place,
      { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [name] },
      { key: ARCH_LABEL, operator: 'In', values: ['amd64'] },
      { key: OS_LABEL, operator: 'In', values: ['linux'] },
    ],
    capacity: { cpu: cpu * 1_000, memory: memoryGiB * GI, pods: 50 },
    overhead: { kubeReserved: { cpu: 100, memory: GI / 4 }, systemReserved: {}, evictionThreshold: {} },
    offerings: [{ requirements: place, usdPerHour, available: true }],
  };
}

class MachineProvider implements CloudProvider {
  readonly name = 'machines';
  readonly nodeClassKinds = [MACHINE_CLASS];
  readonly repairPolicies = [];
  readonly #ports: ProviderPorts;
  readonly #rack: Rack;
  /** Instance types by NodeClass, which stay the same objects until the NodeClass changes. */
  readonly #types = new WeakMap<MachineClass, readonly InstanceType[]>();

  constructor(ports: ProviderPorts, rack: Rack) {
    this.#ports = ports;
    this.#rack = rack;
  }

  async instanceTypes({ spec }: NodePool): Promise<readonly InstanceType[]> {
    const nodeClass = this.#nodeClass(spec.template.spec.nodeClassRef.name);
    return nodeClass === undefined ? [] : this.#typesOf(nodeClass);
  }

  async create(claim: NodeClaim): Promise<NodeClaim> {
    const known = this.#rack.list().find(({ launched }) => launched.metadata.uid === claim.metadata.uid);
    if (known !== undefined) return known.launched;
    const nodeClass = this.#nodeClass(claim.spec.nodeClassRef.name);
    if (nodeClass === undefined) throw new NodeClassNotReady(`MachineClass ${claim.spec.nodeClassRef.name} is missing`);
    const wanted = Requirements.fromRequirements(claim.spec.requirements).get(INSTANCE_TYPE_LABEL);
    const types = this.#typesOf(nodeClass).filter(({ name }) => wanted.has(name));
    const [type] = types.toSorted((a, b) => priceOf(a) - priceOf(b));
    if (type === undefined) throw new InsufficientCapacity('no machine matches the requirements');
    const { labels, annotations } = claim.metadata;
    const launched: NodeClaim = {
      ...claim,
      metadata: {
        ...claim.metadata,
        labels: { ...labels, ...labelsOf(type) },
        annotations: { ...annotations, [IMAGE_ANNOTATION]: nodeClass.spec.image },
        creationTimestamp: new Date(this.#ports.clock.now()).toISOString(),
      },
      status: {
        imageID: nodeClass.spec.image,
        capacity: quantityList(type.capacity),
        allocatable: quantityList(allocatable(type)),
      },
    };
    return this.#rack.start(launched, priceOf(type)).launched;
  }

  async delete(claim: NodeClaim): Promise<void> {
    void this.#rack.stop(this.#machine(claim.status?.providerID));
  }

  async reboot(claim: NodeClaim): Promise<void> {
    this.#machine(claim.status?.providerID);
  }

  async get(providerId: string): Promise<NodeClaim> {
    return claimOf(this.#machine(providerId));
  }

  async list(): Promise<readonly NodeClaim[]> {
    return this.#rack.list().map(claimOf);
  }

  async isDrifted({ spec, metadata }: NodeClaim): Promise<string | undefined> {
    const nodeClass = this.#nodeClass(spec.nodeClassRef.name);
    if (nodeClass === undefined) return undefined;
    return metadata.annotations?.[IMAGE_ANNOTATION] === nodeClass.spec.image ? undefined : 'ImageDrifted';
  }

  #typesOf(nodeClass: MachineClass): readonly InstanceType[] {
    const types = this.#types.get(nodeClass) ?? nodeClass.spec.machines.map(instanceType);
    this.#types.set(nodeClass, types);
    return types;
  }

  #nodeClass(name: string): MachineClass | undefined {
    return this.#ports.informers.store(KIND).get({ name });
  }

  #machine(providerId: string | undefined): Machine {
    const machine = this.#rack.get(providerId);
    if (machine === undefined) throw new NodeClaimNotFound(`machine ${providerId} is off`);
    return machine;
  }
}

const priceOf = ({ offerings }: InstanceType): number => offerings[0]?.usdPerHour ?? 0;

const labelsOf = ({ requirements }: InstanceType): Readonly<Record<string, string>> =>
  Object.fromEntries(requirements.map(({ key, values = [] }) => [key, values[0] ?? '']));

function claimOf({ launched, isStopping }: Machine): NodeClaim {
  const { creationTimestamp = '' } = launched.metadata;
  return isStopping
    ? { ...launched, metadata: { ...launched.metadata, deletionTimestamp: creationTimestamp } }
    : launched;
}

/** Sets the conditions of NodeClasses. */
const nodeClassController = ({ client, clock }: ProviderPorts): Reconciler<MachineClass> => ({
  name: 'machineclass',
  watches: KIND,
  async reconcile(nodeClass) {
    const update = { type: 'MachinesListed', status: nodeClass.spec.machines.length > 0 ? 'True' : 'False' } as const;
    const after = setCondition(nodeClass, MACHINE_CLASS.conditions, update, clock.now());
    await writeChanges(client, KIND, { before: nodeClass, after }, { part: 'status' });
    return settled;
  },
});

/** Returns a provider that uses the machines of a rack. It has no settings. */
export const machineProvider =
  (rack: Rack): ConfigureProvider =>
  (argv, env) => ({
    settings: parseSettings(argv, env),
    start: () => {
      let isOver = false;
      return {
        name: 'machines',
        get isOver() {
          return isOver;
        },
        waitingFor: () => (isOver ? [] : ['the list of machines']),
        open: async (ports) => {
          isOver = true;
          return { provider: new MachineProvider(ports, rack), controllers: () => [nodeClassController(ports)] };
        },
      };
    },
  });

export const machineClass = (spec: MachineClass['spec']): KubeObject & MachineClass => ({
  apiVersion: `${KIND.group}/${KIND.version}`,
  kind: KIND.kind,
  metadata: { name: 'default' },
  spec,
});
