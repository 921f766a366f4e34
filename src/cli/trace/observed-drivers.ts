/**
 * DRA drivers of a recorded cluster. DaemonSets stand for drivers in a replay. They publish the devices of the machine, or the
 * devices that were observed on nodes of the instance type.
 */
import {
  apiVersionOf,
  CONFIG_MAP,
  type ConfigMap,
  type Device,
  INSTANCE_TYPE_LABEL,
  type KubeObject,
  NODEPOOL_LABEL,
  type Node,
  type NodeSelectorRequirement,
  type ResourceSlice,
} from '#api/objects';
import { type DeviceSample, learnedTemplate } from '#engine/devices';
import { own } from '#lib';
import { type DriverPool, MACHINE_DRIVERS } from '#local/machines';
import { OPERATOR_NAMESPACE } from '#replay/trace';
import { DEVICE_TEMPLATES_LABEL } from '#state';
import { Redactor } from '../snapshot/redact.ts';
import { driverDaemonSet } from './driver-objects.ts';
import { traceObject } from './redacted.ts';

/** Maximum number of drivers and instance types. */
const MOST_SAMPLES = 256;
/** First name in the alphabet, so that ConfigMaps of the cluster with the same weight have precedence. */
const OBSERVED_NAME = '0-observed-devices';

/** Slices of a driver on the first node of an instance type, and the NodePools with such nodes. */
interface Sample {
  readonly driver: string;
  readonly type: string;
  readonly node: string;
  readonly slices: Map<string, ResourceSlice>;
  readonly nodePools: Set<string>;
}

/** Returns true for a ConfigMap with devices of new nodes. */
export const isDeclaration = ({ kind, metadata }: KubeObject): boolean =>
  kind === CONFIG_MAP.kind && own(metadata.labels ?? {}, DEVICE_TEMPLATES_LABEL) === 'true';

/** Returns a ConfigMap with devices of new nodes, in the namespace of the operator of a replay. */
export function traceDeclaration(configMap: ConfigMap): KubeObject {
  const safe = traceObject(configMap);
  const labels = { [DEVICE_TEMPLATES_LABEL]: 'true' };
  return { ...safe, metadata: { ...safe.metadata, labels, namespace: OPERATOR_NAMESPACE } };
}

export class ObservedDrivers {
  readonly #nodes: { get(ref: { readonly name: string }): Node | undefined };
  readonly #redactor = new Redactor();
  readonly #samples = new Map<string, Sample>();

  constructor(nodes: { get(ref: { readonly name: string }): Node | undefined }) {
    this.#nodes = nodes;
  }

  /** Records the devices of a node. Ignores devices that several nodes can use. */
  put(slice: ResourceSlice): void {
    const { driver, nodeName: node = '' } = slice.spec;
    const labels = this.#nodes.get({ name: node })?.metadata.labels ?? {};
    const [type, nodePool] = [own(labels, INSTANCE_TYPE_LABEL), own(labels, NODEPOOL_LABEL)];
    if (type === undefined || nodePool === undefined) return;
    const key = JSON.stringify([driver, type]);
    const known = this.#samples.get(key);
    if (known === undefined && this.#samples.size >= MOST_SAMPLES) return;
    const sample = known ?? { driver, type, node, slices: new Map(), nodePools: new Set<string>() };
    this.#samples.set(key, sample);
    sample.nodePools.add(nodePool);
    if (sample.node === node) sample.slices.set(slice.metadata.name, slice);
  }

  /** Returns the DaemonSets of the drivers, and the devices of new nodes that no static table contains. */
  objects(): readonly KubeObject[] {
    const byDriver = Map.groupBy(this.#samples.values(), ({ driver }) => driver);
    const drivers = [...byDriver].sort(([a], [b]) => (a < b ? -1 : 1));
    const declared: Record<string, string> = {};
    const daemonSets = drivers.flatMap(([driver, samples]) => {
      const isMachine = ({ slices }: Sample): boolean =>
        MACHINE_DRIVERS.has(driver) && [...slices.values()].every(hasOnlyWholeDevices);
      const other = samples.filter((sample) => !isMachine(sample));
      for (const sample of other) declared[`${Object.keys(declared).length}.yaml`] = this.#declaration(sample);
      const whole = samples.filter(isMachine);
      return [
        ...(whole.length === 0 ? [] : [{ driver, nodes: [poolsOf(whole)] }]),
        ...other.map((sample) => ({
          driver,
          nodes: [poolsOf([sample]), { key: INSTANCE_TYPE_LABEL, operator: 'In' as const, values: [sample.type] }],
          pools: this.#pools(sample),
        })),
      ];
    });
    const isDeclared = Object.keys(declared).length > 0;
    return [
      ...(isDeclared ? [configMap(declared)] : []),
      ...daemonSets.map((parts, index) => driverDaemonSet({ name: `observed-dra-driver-${index}`, ...parts })),
    ];
  }

  #sampleOf({ slices }: Sample): DeviceSample {
    const pools = Map.groupBy(slices.values(), ({ spec }) => spec.pool.name);
    const latest = [...pools.values()].flatMap((all) => {
      const generation = Math.max(...all.map(({ spec }) => spec.pool.generation));
      return all.filter(({ spec }) => spec.pool.generation === generation);
    });
    return { slices: latest.map((slice) => this.#redactor.redacted(slice) as ResourceSlice) };
  }

  #pools(sample: Sample): readonly DriverPool[] {
    const pools = Map.groupBy(this.#sampleOf(sample).slices, ({ spec }) => spec.pool.name);
    return [...pools].map(([name, slices], at) => ({
      // the first pool has the name of the node, as with most drivers
      ...(name === sample.node ? {} : { name: `$(NODE_NAME)-${at}` }),
      devices: slices.flatMap(({ spec }) => spec.devices ?? []).map(withoutPlace),
      sharedCounters: slices.flatMap(({ spec }) => spec.sharedCounters ?? []),
    }));
  }

  /** Returns the devices of new nodes, as the operator has learned them from the nodes of the cluster. */
  #declaration(sample: Sample): string {
    const { pools, runtime } = learnedTemplate(sample.driver, [this.#sampleOf(sample)]);
    return JSON.stringify({
      driver: sample.driver,
      requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'In', values: [sample.type] }],
      pools: pools.map(({ pool, devices, sharedCounters }) => ({ name: pool, devices, sharedCounters })),
      runtime: runtime.map(({ attribute, groups = new Map<string, string>() }) => ({
        attribute,
        disjoint: true,
        same: [...Map.groupBy(groups.keys(), (device) => groups.get(device)).values()],
      })),
    });
  }
}

/** Returns false for slices with parts of devices, because these depend on the configuration of the machine. */
const hasOnlyWholeDevices = ({ spec: { driver, devices = [], sharedCounters } }: ResourceSlice): boolean =>
  sharedCounters === undefined &&
  devices.every(({ attributes = {} }) => {
    const { string: type = 'gpu' } = own(attributes, 'type') ?? own(attributes, `${driver}/type`) ?? {};
    return type === 'gpu';
  });

/** Returns the NodePools of samples as a requirement for nodes. */
const poolsOf = (samples: readonly Sample[]): NodeSelectorRequirement => ({
  key: NODEPOOL_LABEL,
  operator: 'In',
  values: [...new Set(samples.flatMap(({ nodePools }) => [...nodePools]))].sort(),
});

const withoutPlace = ({ nodeName: _, nodeSelector: __, allNodes: ___, ...device }: Device): Device => device;

const configMap = (data: Readonly<Record<string, string>>): ConfigMap => ({
  apiVersion: apiVersionOf(CONFIG_MAP),
  kind: CONFIG_MAP.kind,
  metadata: { name: OBSERVED_NAME, namespace: OPERATOR_NAMESPACE, labels: { [DEVICE_TEMPLATES_LABEL]: 'true' } },
  data,
});
