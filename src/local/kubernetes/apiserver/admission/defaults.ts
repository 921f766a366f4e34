/** Defaults of built-in objects as a real API server sets them. Each function changes its argument. */
import { type ApiObject, isRecord, type Json, record, records, text } from '../json.ts';
import { conditionTimes, missing, podDefaults, podStatusDefaults, specOf } from './pod-defaults.ts';
import { WORKLOAD_DEFAULTS } from './workload-defaults.ts';

function service(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  if (spec.type !== 'ExternalName') missing(spec, { internalTrafficPolicy: 'Cluster' });
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') missing(spec, { externalTrafficPolicy: 'Cluster' });
  if (spec.type === 'LoadBalancer') missing(spec, { allocateLoadBalancerNodePorts: true });
  missing(object, { status: { loadBalancer: {} } });
  for (const port of records(spec.ports)) missing(port, { protocol: 'TCP', targetPort: port.port });
}

function namespace(object: ApiObject): void {
  missing(specOf(object), { finalizers: ['kubernetes'] });
  object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  if (object.status === undefined) object.status = { phase: 'Active' };
}

function secret(object: ApiObject): void {
  missing(object, { type: 'Opaque' });
  if (!isRecord(object.stringData)) return;
  const encoded = Object.entries(object.stringData).map(([k, v]) => [k, Buffer.from(text(v)).toString('base64')]);
  object.data = { ...record(object.data), ...Object.fromEntries(encoded) };
  delete object.stringData;
}

function definition(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { conversion: { strategy: 'None' } });
  const names = record(spec.names);
  missing(names, { singular: text(names.kind).toLowerCase(), listKind: `${text(names.kind)}List` });
}

function volume(object: ApiObject): void {
  missing(specOf(object), { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' });
  missing(object, { status: { phase: 'Pending' } });
}

function claim(object: ApiObject): void {
  missing(specOf(object), { volumeMode: 'Filesystem' });
  missing(object, { status: { phase: 'Pending' } });
}

/** Fills in the times of container states. */
function containerTimes(object: ApiObject): void {
  for (const status of records(record(object.status).containerStatuses)) {
    for (const state of [record(status.state), record(status.lastState)]) {
      if (isRecord(state.running)) missing(state.running, { startedAt: null });
      if (isRecord(state.terminated)) missing(state.terminated, { startedAt: null, finishedAt: null });
    }
  }
}

function pod(object: ApiObject, part?: 'status'): void {
  if (part === undefined) podDefaults(object);
  else podStatusDefaults(object);
  containerTimes(object);
  conditionTimes(object, 'lastProbeTime', 'lastTransitionTime');
}

const NODE_INFO = [
  'architecture',
  'bootID',
  'containerRuntimeVersion',
  'kernelVersion',
  'kubeProxyVersion',
  'kubeletVersion',
  'machineID',
  'operatingSystem',
  'osImage',
  'systemUUID',
];

function node(object: ApiObject): void {
  if (!isRecord(object.status)) object.status = {};
  const status = record(object.status);
  missing(status, { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: {} });
  missing(record(status.nodeInfo), Object.fromEntries(NODE_INFO.map((field) => [field, ''])));
  if (status.capacity !== undefined) missing(status, { allocatable: status.capacity });
  conditionTimes(object, 'lastHeartbeatTime', 'lastTransitionTime');
}

const portProtocols = (ports: unknown): void => {
  for (const port of records(ports)) missing(port, { protocol: 'TCP' });
};

function endpointSlice(object: ApiObject): void {
  portProtocols(object.ports);
  for (const port of records(object.ports)) missing(port, { name: '' });
  for (const endpoint of records(object.endpoints)) missing(endpoint, { conditions: {} });
}

function networkPolicy(object: ApiObject): void {
  const spec = specOf(object);
  missing(spec, { podSelector: {}, policyTypes: spec.egress === undefined ? ['Ingress'] : ['Ingress', 'Egress'] });
}

const HALF_BUSY = [
  { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
];

function autoscaler(object: ApiObject): void {
  missing(specOf(object), { minReplicas: 1, metrics: HALF_BUSY });
  missing(object, { status: {} });
  missing(record(object.status), { currentMetrics: null, desiredReplicas: 0 });
}

function budget(object: ApiObject): void {
  missing(object, { status: {} });
  missing(record(object.status), { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 });
}

function deviceRequests(claim: Json): void {
  missing(claim, { devices: {} });
  missing(record(claim.devices), { requests: null });
  for (const request of records(record(claim.devices).requests))
    for (const details of [request.exactly, ...records(request.firstAvailable)].filter(isRecord)) {
      missing(details, { allocationMode: 'ExactCount' });
      // zero counts as missing
      if (details.allocationMode === 'ExactCount' && (details.count ?? 0) === 0) details.count = 1;
      for (const toleration of records(details.tolerations)) missing(toleration, { operator: 'Equal' });
    }
}

const DEFAULTS: Readonly<Record<string, (object: ApiObject, part?: 'status') => void>> = {
  pods: pod,
  nodes: node,
  ...WORKLOAD_DEFAULTS,
  services: service,
  namespaces: namespace,
  secrets: secret,
  endpoints: (object) => {
    for (const { ports } of records(object.subsets)) portProtocols(ports);
  },
  'endpointslices.discovery.k8s.io': endpointSlice,
  'networkpolicies.networking.k8s.io': networkPolicy,
  'ingresses.networking.k8s.io': (object) => missing(object, { status: { loadBalancer: {} } }),
  'horizontalpodautoscalers.autoscaling': autoscaler,
  'poddisruptionbudgets.policy': budget,
  resourcequotas: (object) => missing(object, { status: {} }),
  events: (object) => missing(object, { eventTime: null, reportingComponent: '', reportingInstance: '' }),
  'volumeattachments.storage.k8s.io': (object) => missing(object, { status: { attached: false } }),
  'resourceclaims.resource.k8s.io': (object) => {
    deviceRequests(specOf(object));
    missing(object, { status: {} });
  },
  'resourceclaimtemplates.resource.k8s.io': (object) => {
    missing(specOf(object), { metadata: {}, spec: {} });
    deviceRequests(record(specOf(object).spec));
  },
  'deviceclasses.resource.k8s.io': (object) => missing(object, { spec: {} }),
  'csidrivers.storage.k8s.io': (object) =>
    missing(specOf(object), {
      attachRequired: true,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      podInfoOnMount: false,
      requiresRepublish: false,
      seLinuxMount: false,
      storageCapacity: false,
      volumeLifecycleModes: ['Persistent'],
    }),
  persistentvolumes: volume,
  persistentvolumeclaims: claim,
  'storageclasses.storage.k8s.io': (object) =>
    missing(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
  'priorityclasses.scheduling.k8s.io': (object) => missing(object, { preemptionPolicy: 'PreemptLowerPriority' }),
  'customresourcedefinitions.apiextensions.k8s.io': definition,
};

/**
 * Sets the defaults of a built-in object of this storage name, in place.
 *
 * @param part `status` if only the status is written. The stored object already has its other defaults, and they must
 * not change.
 */
export function applyDefaults(storage: string, object: ApiObject, part?: 'status'): void {
  DEFAULTS[storage]?.(object, part);
}
