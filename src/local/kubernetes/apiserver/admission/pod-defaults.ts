/** Defaults of pods and pod templates. */
import { own } from '#lib';
import { type ApiObject, isRecord, type Json, record, records, text } from '../json.ts';

/** Sets defaults that apply to pods and pod templates. */
export function podSpecDefaults(spec: Json): void {
  missing(spec, {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: 30,
    securityContext: {},
  });
  if (spec.serviceAccountName !== undefined) missing(spec, { serviceAccount: spec.serviceAccountName });
  for (const container of [...records(spec.containers), ...records(spec.initContainers)]) {
    containerDefaults(container, spec.hostNetwork === true);
  }
}

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

function probeDefaults(container: Json): void {
  for (const name of PROBES) {
    const probe = container[name];
    if (!isRecord(probe)) continue;
    missing(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
    if (isRecord(probe.httpGet)) missing(probe.httpGet, { path: '/', scheme: 'HTTP' });
  }
}

function containerDefaults(container: Json, hostNetwork: boolean): void {
  const image = text(container.image);
  const floating = image.endsWith(':latest') || !/[:@]/.test(image.slice(image.lastIndexOf('/') + 1));
  missing(container, {
    imagePullPolicy: floating ? 'Always' : 'IfNotPresent',
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  });
  probeDefaults(container);
  for (const port of records(container.ports)) {
    missing(port, { protocol: 'TCP' });
    if (hostNetwork) missing(port, { hostPort: port.containerPort });
  }
}

/** If a resource has a limit but no request, the request is set to the limit. */
function requestsFromLimits(container: Json): void {
  const resources = record(container.resources);
  if (!isRecord(resources.limits)) return;
  resources.requests = { ...resources.limits, ...record(resources.requests) };
}

const TOLERATED = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/**
 * Adds tolerations for unreachable and not-ready nodes for five minutes, unless the pod already has such tolerations.
 */
function lostNodeTolerations(spec: Json): void {
  const tolerations = records(spec.tolerations);
  const added = TOLERATED.filter(
    (key) => !tolerations.some((t) => (t.key === key || !t.key) && (t.effect === 'NoExecute' || !t.effect)),
  ).map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
  if (added.length > 0) spec.tolerations = [...tolerations, ...added];
}

export function podDefaults(pod: ApiObject): void {
  if (!isRecord(pod.spec)) return;
  const spec = pod.spec;
  missing(spec, { serviceAccountName: 'default', enableServiceLinks: true });
  podSpecDefaults(spec);
  for (const container of [...records(spec.containers), ...records(spec.initContainers)]) {
    requestsFromLimits(container);
  }
  lostNodeTolerations(spec);
  podStatusDefaults(pod);
}

/** Sets the defaults of the status only. */
export function podStatusDefaults(pod: ApiObject): void {
  if (!isRecord(pod.spec)) return;
  const status = record(pod.status);
  pod.status = { ...status, phase: status.phase ?? 'Pending', qosClass: status.qosClass ?? qosClass(pod.spec) };
}

/** Returns Guaranteed, Burstable or BestEffort, depending on CPU and memory of every container. */
export function qosClass(spec: Json): string {
  const containers = [...records(spec.containers), ...records(spec.initContainers)].map((container) => {
    const resources = record(container.resources);
    return { requests: record(resources.requests), limits: record(resources.limits) };
  });
  const sets = (quantities: Json): boolean => quantities.cpu !== undefined || quantities.memory !== undefined;
  if (!containers.some(({ requests, limits }) => sets(requests) || sets(limits))) return 'BestEffort';
  const guaranteed = containers.every(({ requests, limits }) =>
    ['cpu', 'memory'].every((name) => own(limits, name) !== undefined && own(requests, name) === own(limits, name)),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

/** Sets the fields that the target does not have. */
export function missing(target: Json, defaults: Json): void {
  for (const [name, value] of Object.entries(defaults)) if (target[name] === undefined) target[name] = value;
}

/** Returns the object's spec. Creates it if it is missing. */
export function specOf(object: ApiObject): Json {
  if (!isRecord(object.spec)) object.spec = {};
  return record(object.spec);
}

/** Sets missing times of conditions to null, as the real server encodes them. */
export function conditionTimes(object: ApiObject, ...times: readonly string[]): void {
  for (const condition of records(record(object.status).conditions))
    missing(condition, Object.fromEntries(times.map((time) => [time, null])));
}
