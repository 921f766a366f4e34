/** DRA drivers and declared devices in an audit log. The log can contain a slice before the labels of its node. */
import {
  CONFIG_MAP,
  type ConfigMap,
  INSTANCE_TYPE_LABEL,
  type Kind,
  type KubeObject,
  NODE,
  NODEPOOL_LABEL,
  type Node,
  RESOURCE_SLICE,
  type ResourceSlice,
} from '#api/objects';
import { isObject, own } from '#lib';
import { isDeclaration, ObservedDrivers, traceDeclaration } from './observed-drivers.ts';

/** Kinds that describe devices. They are not objects of a trace. */
export const DEVICE_SOURCES: readonly Kind[] = [NODE, RESOURCE_SLICE, CONFIG_MAP];

/** Maximum number of objects of each kind. */
const MOST_KEPT = 20_000;

export class AuditedDevices {
  /** Nodes with their instance type and NodePool. */
  readonly #nodes = new Map<string, Node>();
  readonly #slices = new Map<string, ResourceSlice>();
  readonly #declarations = new Map<string, ConfigMap>();

  put(object: KubeObject): void {
    const { namespace = '', name } = object.metadata;
    if (object.kind === NODE.kind) this.#putNode(object as Node);
    else if (isSlice(object)) keep(this.#slices, name, object);
    else if (isDeclaration(object)) keep(this.#declarations, `${namespace}/${name}`, object as ConfigMap);
  }

  #putNode({ apiVersion, kind, metadata }: Node): void {
    const { name, labels = {} } = metadata;
    const [type, pool] = [own(labels, INSTANCE_TYPE_LABEL), own(labels, NODEPOOL_LABEL)];
    if (type === undefined || pool === undefined) return;
    const kept = { [INSTANCE_TYPE_LABEL]: type, [NODEPOOL_LABEL]: pool };
    keep(this.#nodes, name, { apiVersion, kind, metadata: { name, labels: kept } });
  }

  /** Number of slices on nodes without a known instance type and NodePool. */
  get unplaced(): number {
    return [...this.#slices.values()].filter(
      ({ spec: { nodeName = '' } }) => nodeName !== '' && !this.#nodes.has(nodeName),
    ).length;
  }

  /** Returns the objects with which a replay begins. */
  objects(): readonly KubeObject[] {
    const drivers = new ObservedDrivers({ get: ({ name }) => this.#nodes.get(name) });
    for (const slice of this.#slices.values()) drivers.put(slice);
    return [...[...this.#declarations.values()].map(traceDeclaration), ...drivers.objects()];
  }
}

/** Returns true for a slice with the fields that every slice has. A log can contain shortened objects. */
function isSlice(object: KubeObject): object is ResourceSlice {
  const { spec } = object as { readonly spec?: unknown };
  return (
    object.kind === RESOURCE_SLICE.kind && isObject(spec) && typeof spec.driver === 'string' && isObject(spec.pool)
  );
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  if (map.has(key) || map.size < MOST_KEPT) map.set(key, value);
}
