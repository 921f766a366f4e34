/**
 * The metrics API (metrics.k8s.io/v1beta1), which clusters get from metrics-server. Containers do not run, so a pod uses a share
 * of its requests, or the amounts in its annotations.
 */
import { amountOf, quantityList } from '#engine/model';
import { own, timestamp, tryRun } from '#lib';
import { at, type Json, list, record, text } from '../json.ts';
import { groupVersion } from '../resources/registry.ts';
import { methodNotAllowed, notFound, unknownPath } from '../status.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { type ApiCall, send } from './call.ts';
import { selection } from './list.ts';

const GROUP = { group: 'metrics.k8s.io', version: 'v1beta1' };

/** Resources for discovery. */
export const METRICS_RESOURCES = [
  { ...GROUP, name: 'nodes', kind: 'NodeMetrics', namespaced: false },
  { ...GROUP, name: 'pods', kind: 'PodMetrics', namespaced: true },
] as const;

/** Share of its request that a container uses. */
const USED = { cpu: 0.3, memory: 0.6 } as const;
/** Least use of a container, in the units of the engine: thousandths of a CPU, and bytes. */
const LEAST = { cpu: 5, memory: 32 * 2 ** 20 } as const;
type Measured = keyof typeof USED;
const MEASURED = Object.keys(USED) as readonly Measured[];

export const isMetricsApi = (group: string, version: string): boolean =>
  group === GROUP.group && version === GROUP.version;

/** @throws StatusError for an unknown path, object or method */
export function serveMetrics(
  call: ApiCall,
  path: { readonly namespace: string | undefined; plural: string; name: string },
): undefined {
  const { namespace, plural, name } = path;
  const resource = call.core.registry.find('', 'v1', plural);
  if (resource === undefined || !METRICS_RESOURCES.some((served) => served.name === plural)) throw unknownPath();
  if (call.method !== 'GET') throw methodNotAllowed();
  const measure = (entry: StoredEntry): Json =>
    plural === 'pods' ? podMetrics(call, entry) : nodeMetrics(call, entry);
  const isMeasured = (entry: StoredEntry): boolean => plural !== 'pods' || isRunning(entry);
  const entries = call.core.store.list(resource.storage, namespace);
  if (name !== '') {
    const found = entries.find((entry) => entry.object.metadata.name === name && isMeasured(entry));
    if (found === undefined) throw notFound({ ...resource, ...GROUP, kind: kindOf(resource.plural) }, name);
    return send(call, measure(found));
  }
  const { matches } = selection(call.query, resource, namespace);
  const items = entries.filter((entry) => isMeasured(entry) && matches(entry)).map(measure);
  return send(call, { kind: `${kindOf(plural)}List`, apiVersion: groupVersion(GROUP), metadata: {}, items });
}

const kindOf = (plural: string): string => (plural === 'pods' ? 'PodMetrics' : 'NodeMetrics');

const isRunning = ({ object }: StoredEntry): boolean => at(object, 'status', 'phase') === 'Running';

/** Returns the use of a container, in the units of the engine. */
function useOf(pod: Json, container: unknown): Record<Measured, number> {
  const requests = record(at(container, 'resources', 'requests'));
  const annotations = record(at(pod, 'metadata', 'annotations'));
  const amount = (resource: Measured): number => {
    // a quantity for each container of the pod
    const given = own(annotations, `local.karpenter-ts.sh/${resource}-use`);
    const stated = given === undefined ? undefined : tryRun(() => amountOf(resource, text(given)));
    if (stated !== undefined) return stated;
    return Math.max(LEAST[resource], amountOf(resource, text(own(requests, resource) ?? '0')) * USED[resource]);
  };
  return { cpu: amount('cpu'), memory: amount('memory') };
}

const usage = (use: Readonly<Record<Measured, number>>): Json =>
  quantityList({ cpu: Math.round(use.cpu), memory: Math.round(use.memory) });

const head = ({ core }: ApiCall, { object }: StoredEntry, kind: string): Json => {
  const { name, namespace, labels } = object.metadata;
  const now = timestamp(core.clock.now());
  return {
    kind,
    apiVersion: groupVersion(GROUP),
    metadata: { name, ...(namespace && { namespace }), ...(labels && { labels }), creationTimestamp: now },
    timestamp: now,
    window: '15s',
  };
};

function podMetrics(call: ApiCall, entry: StoredEntry): Json {
  const containers = list(at(entry.object, 'spec', 'containers')).map((container) => ({
    name: at(container, 'name'),
    usage: usage(useOf(entry.object, container)),
  }));
  return { ...head(call, entry, 'PodMetrics'), containers };
}

function nodeMetrics(call: ApiCall, entry: StoredEntry): Json {
  const total = { cpu: 0, memory: 0 };
  for (const pod of call.core.store.list('pods', undefined)) {
    if (at(pod.object, 'spec', 'nodeName') !== entry.object.metadata.name || !isRunning(pod)) continue;
    for (const container of list(at(pod.object, 'spec', 'containers')))
      for (const resource of MEASURED) total[resource] += useOf(pod.object, container)[resource];
  }
  return { ...head(call, entry, 'NodeMetrics'), usage: usage(total) };
}
