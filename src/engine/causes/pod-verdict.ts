/** Verdict on a pod that has no node. The operator serves verdicts at `/debug/pods`; the command line computes the same. */
import { getCondition, type Pod, RESIZE_PENDING } from '#api/objects';
import { defined } from '#lib';
import { UNSUPPORTED } from '../dra/pod-claims.ts';
import type { PodRefusal } from '../model.ts';
import type { Preemption } from '../preemption.ts';
import { requestUsedBy } from '../provisioning-requests.ts';
import type { POD_VERDICTS } from '../reason-codes.ts';
import { misfitText } from '../solver/misfits.ts';
import { type Cause, causeText, withDetails } from './cause.ts';

/** Verdict in a public format. */
export interface PodVerdict {
  /** Name of the pod: `namespace/name`. */
  readonly pod: string;
  /**
   * Code of the verdict. `running`: already on a node. `held`: the operator ignores the pod for some time. `waiting`:
   * kube-scheduler has not marked the pod as unschedulable. `fits`: fits on an existing node. `joining`: fits on a node that has
   * not joined the cluster yet. `bought`: needs a new node. `gang`: the gang of the pod is not complete, is held, or has a mark
   * that is not valid. `undecided`: no decision yet.
   */
  readonly code: (typeof POD_VERDICTS)[number];
  readonly text: string;
  /** Cause in the NodePool that the pod is meant for. */
  readonly cause?: Cause;
  /** Preferences of the pod and of equal pods, with their price and the decision. Only for preferences with a price. */
  readonly preferences?: string;
  /** Rule of a NodePolicy that keeps the pod off spot nodes, or lets it wait for spot capacity. */
  readonly spot?: string;
  /** Start and end of the time for which the pod is held. */
  readonly since?: string;
  readonly until?: string;
  /** Time of the operator's decision. */
  readonly decided?: string;
  /** Time of the next attempt to launch a node. Absent unless the provider refused the last one. */
  readonly nextAttempt?: string;
  /** Reason of each NodePool for rejecting the pod, in the order of evaluation. */
  readonly nodePools?: readonly { readonly nodePool: string; readonly code: string; readonly text: string }[];
  /** Unknown facts that affect the verdict. Undefined if the list is empty. */
  readonly unknown?: readonly string[];
}

/** Pod for which no node is launched now. */
export interface WaitingPod {
  readonly pod: Pod;
  /** Undefined if the pod does not wait for a preemption. */
  readonly preemption: Preemption | undefined;
}

/** Returns the text of a refusal for logs: the cause with its remedy, then the reasons. */
export const refusalMessage = (refusal: PodRefusal): string => messageOf(partsOf(refusal));

interface RefusalParts {
  /** Reasons of all NodePools. */
  readonly text: string;
  readonly cause?: Cause | undefined;
  /** Rule for spot that restricts the pod. */
  readonly spot?: string | undefined;
}

const partsOf = (refusal: PodRefusal): RefusalParts => ({
  text: refusal.text,
  cause: refusal.code === 'no-fit' ? refusal.cause : undefined,
  spot: refusal.code === 'no-fit' ? refusal.spot : undefined,
});
const afterSpot = (spot: string | undefined, text: string): string => (spot === undefined ? text : `${spot}; ${text}`);

const messageOf = ({ text, cause, spot }: RefusalParts): string =>
  afterSpot(spot, cause === undefined ? text : withDetails(cause, text));

/** Longest text of a refusal in an event, without the command that shows the rest. */
const MOST_IN_EVENT = 250;
const REST = ' All reasons: karpenter explain pod ';

/** Returns the text of a refusal for the event of the pod: the whole text, or the cause with its remedy and a command. */
export const refusalNote = (pod: ObjectName, refusal: PodRefusal): string => refusalNoteOf(pod, partsOf(refusal));

export function refusalNoteOf({ namespace = 'default', name }: ObjectName, parts: RefusalParts): string {
  const whole = messageOf(parts);
  if (whole.length <= MOST_IN_EVENT) return whole;
  const own = afterSpot(parts.spot, parts.cause === undefined ? parts.text : causeText(parts.cause));
  return `${clip(own)}${REST}${name} -n ${namespace}`;
}

interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Cuts a long text after a word. */
function clip(text: string): string {
  if (text.length <= MOST_IN_EVENT) return text;
  const room = text.slice(0, MOST_IN_EVENT - 1);
  const end = room.lastIndexOf(' ');
  return `${end > 0 ? room.slice(0, end) : room}…`;
}

/** Removes the command from the text of an event, for views that show all reasons themselves. */
export function withoutCommand(text: string): string {
  const at = text.indexOf(REST);
  return at === -1 ? text : text.slice(0, at);
}

export function refusedVerdict(pod: string, refusal: PodRefusal): PodVerdict {
  if (refusal.code === 'gang') return { pod, code: 'gang', text: refusal.text };
  if (refusal.code !== 'no-fit') return { pod, code: 'unschedulable', text: withRemedy(refusal.text) };
  const { cause, pools, spot } = refusal;
  return {
    pod,
    code: 'unschedulable',
    text: cause === undefined ? 'no NodePool can launch a node for the pod' : causeText(cause),
    ...(cause && { cause, ...defined({ nextAttempt: cause.nextAttempt }) }),
    ...defined({ spot }),
    nodePools: pools.map(({ nodePool, misfit }) => ({ nodePool, code: misfit.code, text: misfitText(misfit) })),
  };
}

/** Events and logs have the text of Karpenter without the remedy. */
const withRemedy = (text: string): string =>
  text === UNSUPPORTED ? `${text}; set IGNORE_DRA_REQUESTS=false, or use --dra with manifests` : text;

/**
 * Returns the text for a pod on a node. If the node cannot provide a resize of the pod, the text has the remedy: the operator
 * launches a larger node only for a new pod.
 */
export function runningText(pod: Pod, node: string): string {
  const { reason, message = '', lastTransitionTime } = getCondition(pod, RESIZE_PENDING) ?? {};
  const text = `the pod is on node ${node}`;
  if (reason !== 'Infeasible' && reason !== 'Deferred') return text;
  const state = reason === 'Infeasible' ? 'is infeasible on this node' : 'waits for room on this node';
  const since = lastTransitionTime === undefined ? '' : ` since ${lastTransitionTime}`;
  const details = message === '' ? '' : ` (${message})`;
  return `${text}; its resize ${state}${since}${details}; to move it to a larger node, set the larger request in the template of its controller`;
}

const preemptionText = (preemption: Preemption, node: string): string =>
  preemption === 'running'
    ? `kube-scheduler preempts pods on node ${node} to make room for the pod`
    : `kube-scheduler has nominated node ${node} for the pod and may preempt pods there; if it does not, a node is launched within seconds`;

/** Returns the reason why no node is launched for a pod that waits for a preemption or is not marked as unschedulable. */
export function waitingText({ pod: { spec, status, metadata }, preemption }: WaitingPod): string {
  if (preemption !== undefined) return preemptionText(preemption, status?.nominatedNodeName ?? '');
  const request = requestUsedBy({ metadata });
  if (request !== undefined && status?.conditions?.some(({ reason }) => reason === 'Unschedulable'))
    return `no nodes are launched for the pod, because ProvisioningRequest ${request} provides its capacity`;
  const owner = (metadata.ownerReferences ?? []).find(({ kind }) => kind === 'DaemonSet' || kind === 'Node');
  if (owner) return `no nodes are launched for pods of a ${owner.kind}`;
  const { schedulingGates: gates = [], resourceClaims = [] } = spec;
  if (gates.length > 0) return `the pod has scheduling gates: ${gates.map(({ name }) => name).join(', ')}`;
  if (resourceClaims.length > 0) {
    const more = resourceClaims.length > MOST_CLAIMS ? ` and ${resourceClaims.length - MOST_CLAIMS} more` : '';
    const names = resourceClaims.slice(0, MOST_CLAIMS).map(claimText).join(', ');
    return `kube-scheduler has not tried the pod yet, and does not try it until its resource claims exist: ${names}${more}`;
  }
  return 'kube-scheduler has not marked the pod as unschedulable yet; nodes are launched only for unschedulable pods';
}

type ResourceClaimOfPod = NonNullable<Pod['spec']['resourceClaims']>[number];

const MOST_CLAIMS = 3;

const claimText = ({ name, resourceClaimName, resourceClaimTemplateName }: ResourceClaimOfPod): string =>
  resourceClaimName ?? `${name} from the template ${resourceClaimTemplateName}`;
