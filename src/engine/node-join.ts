/** Progress of a NodeClaim towards an initialized node: elapsed time, deadline, obstacle, and checks if it does not join. */
import { getCondition, isTrue, type NodeClaim } from '#api/objects';
import { formatDuration } from '#api/values';
import { own, timeOf, timestamp } from '#lib';

/** Time within which the instance of a NodeClaim must launch. */
export const LAUNCH_TIMEOUT_MS = 5 * 60_000;
/** Time within which the node of a launched instance must register. */
export const REGISTRATION_TIMEOUT_MS = 15 * 60_000;
/** Time after which a node usually has registered. Later, the instance probably cannot join. */
export const USUAL_JOIN_MS = 2 * 60_000;

/** Check for one probable cause. */
export interface JoinCheck {
  readonly code: 'user-data' | 'role' | 'security-group' | 'route' | 'ami';
  readonly text: string;
  /** Command that shows the facts. */
  readonly command: string;
}

/** Failed attempt to launch the instance of a NodeClaim. */
export interface LaunchFailure {
  /** Answer of the provider. */
  readonly text: string;
  /** Time of the next attempt. Absent if the NodeClaim was deleted, so that its pods are planned again. */
  readonly nextMs?: number;
}

export interface JoinProgress {
  readonly stage: 'launching' | 'registering' | 'initializing';
  readonly text: string;
  /** Start of the stage and its deadline. The initialization of a node has no deadline. */
  readonly since: string;
  readonly deadline?: string;
  readonly elapsedMs: number;
  /** Time of the next attempt to launch. Absent unless the last one failed. */
  readonly nextAttempt?: string;
  /** Probable causes in order, if the node has not joined within the usual time. */
  readonly checks: readonly JoinCheck[];
}

/** Returns the progress, or undefined if the node is initialized or its NodeClaim does not show the initialization. */
export function joinProgress(claim: NodeClaim, nowMs: number, failure?: LaunchFailure): JoinProgress | undefined {
  if (isTrue(claim, 'Initialized')) return undefined;
  if (isTrue(claim, 'Registered')) return initializing(claim, nowMs);
  const isLaunched = isTrue(claim, 'Launched');
  const type = isLaunched ? 'Registered' : 'Launched';
  const changed = getCondition(claim, isLaunched ? 'Launched' : type)?.lastTransitionTime;
  const sinceMs = timeOf(changed ?? claim.metadata.creationTimestamp) || 0;
  const deadlineMs = sinceMs + (isLaunched ? REGISTRATION_TIMEOUT_MS : LAUNCH_TIMEOUT_MS);
  const elapsedMs = Math.max(0, nowMs - sinceMs);
  const checks = isLaunched && elapsedMs >= USUAL_JOIN_MS ? joinChecks(claim) : [];
  const times = { since: timestamp(sinceMs), deadline: timestamp(deadlineMs), elapsedMs };
  if (isLaunched) return { stage: 'registering', text: registeringText(claim, times), ...times, checks };
  const { message = '', status } = getCondition(claim, 'Launched') ?? {};
  const answer = failure?.text ?? (status === 'Unknown' ? message : '');
  const why = answer === '' ? '' : ` (${answer})`;
  const next = failure?.nextMs === undefined ? {} : { nextAttempt: timestamp(Math.max(nowMs, failure.nextMs)) };
  const again = next.nextAttempt === undefined ? '' : `; the next attempt is at ${next.nextAttempt}`;
  const text = `the instance has not been launched for ${elapsed(elapsedMs)}${why}${again}; the NodeClaim is deleted at ${times.deadline}`;
  return { stage: 'launching', text, ...times, ...next, checks };
}

/** Remedies by the reason of the condition Initialized. */
const REMEDIES: Readonly<Record<string, string>> = {
  StartupTaintsExist: 'the component that the taint waits for must remove it',
  KnownEphemeralTaintsExist: 'the kubelet or the cloud controller must remove it',
  ReadinessRuleNotMet: 'the component that the rule waits for must set it',
  NodeNotReady: 'the conditions of the Node have the reason',
  ResourceNotRegistered: 'the device plugin of the resource must register it with the kubelet',
  DRADriverPoolsNotPublished: 'the driver must publish its ResourceSlices',
};

function initializing(claim: NodeClaim, nowMs: number): JoinProgress | undefined {
  const condition = getCondition(claim, 'Initialized');
  if (condition === undefined) return undefined;
  const since = getCondition(claim, 'Registered')?.lastTransitionTime ?? claim.metadata.creationTimestamp;
  const sinceMs = timeOf(since) || 0;
  const elapsedMs = Math.max(0, nowMs - sinceMs);
  const { reason = '', message = '' } = condition;
  const remedy = own(REMEDIES, reason);
  const why = remedy === undefined ? '' : `: ${message}; ${remedy}`;
  const text = `node ${claim.status?.nodeName ?? 'unknown'} has been registered for ${elapsed(elapsedMs)} but is not initialized${why}`;
  return { stage: 'initializing', text, since: timestamp(sinceMs), elapsedMs, checks: [] };
}

/** Returns whole seconds, because parts of a second do not matter. */
const elapsed = (ms: number): string => formatDuration(Math.floor(ms / 1000) * 1000);

function registeringText(
  claim: NodeClaim,
  { elapsedMs, deadline }: Pick<JoinProgress, 'elapsedMs' | 'deadline'>,
): string {
  const ago = elapsed(elapsedMs);
  const seen = getCondition(claim, 'Registered')?.reason;
  const state =
    seen === 'RegistrationHookPending' || seen === 'MultipleNodesFound'
      ? `its Node exists but is not registered (${seen})`
      : 'its Node has not appeared in the cluster';
  const late = elapsedMs < USUAL_JOIN_MS ? '' : ', which usually takes less than two minutes';
  return `instance ${instanceIdOf(claim)} was launched ${ago} ago, and ${state}${late}; it is terminated at ${deadline} if it does not join`;
}

export const instanceIdOf = ({ status }: NodeClaim): string => status?.providerID?.split('/').at(-1) ?? 'unknown';

/** Returns the probable causes of an instance that does not join, most frequent first. */
export function joinChecks(claim: NodeClaim): readonly JoinCheck[] {
  const id = instanceIdOf(claim);
  const instance = `aws ec2 describe-instances --instance-ids ${id}`;
  const fields = (path: string): string => `--query "Reservations[].Instances[].${path}" --output text`;
  return [
    {
      code: 'user-data',
      text: 'the user data or the kubelet of the instance fails; its console has the error',
      command: `aws ec2 get-console-output --latest --instance-id ${id} --output text`,
    },
    {
      code: 'role',
      text: 'the role of the instance is not mapped to system:nodes by an access entry or by the ConfigMap aws-auth',
      command: `${instance} ${fields('IamInstanceProfile.Arn')} && kubectl get configmap aws-auth -n kube-system -o yaml`,
    },
    {
      code: 'security-group',
      text: 'the security groups do not allow port 443 of the API server',
      command: `${instance} ${fields('SecurityGroups[].GroupId')}`,
    },
    {
      code: 'route',
      text: 'the subnet has no route to the API server, ECR and STS (NAT gateway or VPC endpoints)',
      command: `aws ec2 describe-route-tables --filters "Name=association.subnet-id,Values=$(${instance} ${fields('SubnetId')})"`,
    },
    {
      code: 'ami',
      text: 'the image does not match the version of the cluster or the amiFamily',
      command: `aws ec2 describe-images --image-ids ${claim.status?.imageID ?? 'IMAGE'} --query "Images[].Name" --output text`,
    },
  ];
}
