/** Knowledge of the devices of new nodes, and its storage. */
import { ConfigMapDocument, DocumentKeeper } from '#kube/reconcilers';
import { DEVICE_TEMPLATE_MISMATCHES } from '#observe/metrics';
import { DeviceSources, TEMPLATE_MEMORY_NAME, TemplateMemory } from '#state';
import type { Deps } from '../deps.ts';
import { findNodeClass, nodeClassHash } from '../node-classes.ts';
import { DeclaredDeviceSource, NO_DECLARATIONS } from './declared-source.ts';
import { reportSources } from './source-metrics.ts';

interface OpenedDevices {
  readonly sources: DeviceSources;
  /** Saves learned devices. Undefined if no namespace is known. */
  readonly keeper: DocumentKeeper | undefined;
}

/** Returns undefined while dynamic resources are ignored. */
export function openDevices(deps: Deps): OpenedDevices | undefined {
  const { client, cluster, cloud, clock, events, log, metrics, namespace } = deps;
  if (cluster.devices === undefined) return undefined;
  const memory = new TemplateMemory(clock);
  const sources = new DeviceSources({
    cluster,
    cloud,
    clock,
    memory,
    slices: cluster.devices.slices,
    declared:
      namespace === undefined
        ? { current: async () => NO_DECLARATIONS }
        : new DeclaredDeviceSource({ client, events, clock, log, namespace }),
    onOtherShape: (driver) => metrics.counter(DEVICE_TEMPLATE_MISMATCHES).inc({ driver, kind: 'shape' }),
    nodeClassHash: ({ spec }) => {
      const { nodeClassRef } = spec.template.spec;
      return nodeClassHash(deps, nodeClassRef, findNodeClass(deps, nodeClassRef));
    },
    launchHash: (claim) => nodeClassHash(deps, claim.spec.nodeClassRef, claim),
  });
  reportSources(sources, { cluster, metrics });
  if (namespace === undefined) return { sources, keeper: undefined };
  const document = new ConfigMapDocument({ client, log, namespace, name: TEMPLATE_MEMORY_NAME });
  return { sources, keeper: new DocumentKeeper('devices.memory', memory, document) };
}
