/** Events of pods: launches of nodes for them, reasons for missing launches, and evictions from Nodes. */
import { DO_NOT_DISRUPT_ANNOTATION } from '#api/objects';
import { event, MINUTE } from './declaration.ts';

export const FAILED_SCHEDULING = event({
  reason: 'FailedScheduling',
  type: 'Warning',
  isLasting: true,
  about: ['Pod'],
  meaning:
    'No node can be launched for the pod. The message has the cause with its remedy, and the command that shows the reason for each NodePool.',
  key: 'uid of the pod',
  windowMs: 5 * MINUTE,
  message: (text: string) => `Failed to schedule pod, ${text}`,
});

export const NOMINATED = event({
  reason: 'Nominated',
  type: 'Normal',
  about: ['Pod'],
  meaning: 'The pod is expected to run on this NodeClaim or Node.',
  key: 'uid of the pod',
  // a large scale-up must not displace other events
  limit: { name: 'nominated', qps: 5, burst: 10 },
  message: (places: readonly string[]) => `Pod should schedule on: ${places.join(', ')}`,
});

export const SURGE_STARTED = event({
  reason: 'SurgeStarted',
  type: 'Normal',
  about: ['Pod'],
  meaning: 'The Deployment of the pod is restarted, so that a new pod is ready before this pod is evicted.',
  key: 'uid of the pod',
  windowMs: 2 * MINUTE,
  message: (deployment: string, until: string) =>
    `Restarted Deployment ${deployment}; the eviction waits for a new ready pod until ${until}`,
});

export const SURGE_ENDED = event({
  reason: 'SurgeEnded',
  type: 'Warning',
  about: ['Pod'],
  meaning: 'The pod is evicted although it requests a new ready pod first. The message has the reason.',
  key: 'uid of the pod and the reason',
  windowMs: 10 * MINUTE,
  message: (text: string) => `Evicting the pod without a new ready pod: ${text}`,
});

export const POD_HELD = event({
  reason: 'PodHeld',
  type: 'Warning',
  about: ['Pod'],
  meaning:
    'No node is launched for the pod for some time, because nodes for such pods did not serve them or launches are paused.',
  key: 'uid of the pod',
  windowMs: 5 * MINUTE,
  message: (until: string, text: string) => `No nodes are launched for this pod until ${until}: ${text}`,
});

export const CONSUMES_REQUEST = event({
  reason: 'ConsumesProvisioningRequest',
  type: 'Normal',
  about: ['Pod'],
  meaning: 'No node is launched for the pod, because a ProvisioningRequest provides its capacity.',
  key: 'uid of the pod',
  windowMs: 5 * MINUTE,
  message: (request: string) =>
    `Unschedulable pod didn't trigger scale-up, because it's consuming ProvisioningRequest ${request}`,
});

export const NOT_BOUND = event({
  reason: 'NotBound',
  type: 'Warning',
  about: ['Pod'],
  meaning: 'The Node that was launched for the pod is initialized, but the pod is not bound to it.',
  key: 'uid of the pod and name of the Node',
  windowMs: 5 * MINUTE,
  message: (node: string, text: string) => `Pod is not bound to node/${node}, although it is initialized: ${text}`,
});

export const NOT_BOUND_OF_NODEPOOL = event({
  reason: 'NotBound',
  type: 'Warning',
  about: ['NodePool'],
  meaning: 'A Node of the NodePool was launched for a pod that is not bound to it.',
  key: 'uid of the NodePool and the common properties of the pods',
  windowMs: 5 * MINUTE,
  message: (pod: string, node: string, text: string) =>
    `Pod ${pod} is not bound to node/${node} of this NodePool, which was launched for it: ${text}`,
});

export const LEFT_OUT = event({
  reason: 'LeftOut',
  type: 'Warning',
  about: ['Pod', 'Node', 'NodePool', 'DaemonSet'],
  meaning: 'The object is invalid. Scheduling continues without the object.',
  key: 'uid of the object and its error',
  windowMs: 10 * MINUTE,
  message: (text: string) => `Ignored during scheduling, other objects are not affected: ${text}`,
});

export const EVICTED = event({
  reason: 'Evicted',
  type: 'Normal',
  about: ['Pod'],
  meaning: 'The pod was evicted from a Node that is being drained. The message has the reason.',
  key: 'name of the pod',
  message: (reason: string) => `Evicted pod: ${reason}`,
});

export const DISRUPTED = event({
  reason: 'Disrupted',
  type: 'Normal',
  about: ['Pod'],
  meaning: 'The pod is deleted because the terminationGracePeriod of its NodeClaim ends before its own grace period.',
  key: 'name of the pod',
  message: (time: string, grantedSeconds: number, ownSeconds: number | undefined) =>
    `Deleting the pod to accommodate the terminationTime ${time} of the node. The pod was granted ` +
    `${grantedSeconds} seconds of grace-period of its ${ownSeconds ?? 'unset'} terminationGracePeriodSeconds. ` +
    'This bypasses the PDB of the pod and the do-not-disrupt annotation.',
});

export const INVALID_DO_NOT_DISRUPT_ANNOTATION = event({
  reason: 'InvalidDoNotDisruptAnnotation',
  type: 'Warning',
  about: ['Pod'],
  meaning: "The pod's do-not-disrupt annotation is neither true nor a duration, so it has no effect.",
  key: 'uid of the pod and the value',
  message: (error: string) => `Invalid ${DO_NOT_DISRUPT_ANNOTATION} annotation: ${error}, ignoring annotation`,
});

export const INVALID_ANNOTATION = event({
  reason: 'InvalidAnnotation',
  type: 'Warning',
  isLasting: true,
  about: ['Pod', 'CapacityBuffer'],
  meaning:
    'An annotation of the object is not valid. The message has its effect and the remedy. The pods of a workload get one event.',
  key: 'uid of the controller of the pod or of the object, and the message',
  windowMs: 5 * MINUTE,
  limit: { name: 'invalidannotation', qps: 1, burst: 100 },
  message: (text: string) => `Invalid annotation: ${text}`,
});

export const DO_NOT_DISRUPT_UNTIL = event({
  reason: 'DoNotDisruptUntil',
  type: 'Normal',
  about: ['Pod'],
  meaning: "The pod's do-not-disrupt annotation is a duration that has not ended yet.",
  key: 'uid of the pod and the time',
  message: (time: string) => `The ${DO_NOT_DISRUPT_ANNOTATION} grace period will elapse at ${time}`,
});

export const DO_NOT_DISRUPT_GRACE_PERIOD_ELAPSED = event({
  reason: 'DoNotDisruptGracePeriodElapsed',
  type: 'Normal',
  about: ['Pod'],
  meaning: "The duration of the pod's do-not-disrupt annotation has ended.",
  key: 'uid of the pod',
  message: () => `The ${DO_NOT_DISRUPT_ANNOTATION} grace period has elapsed, pod is now disruptable`,
});
