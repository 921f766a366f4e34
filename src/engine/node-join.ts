/** Progress of a launched instance towards a registered node: elapsed time, deadline, and checks if it does not join. */
import { getCondition, isTrue } from '../api/conditions.ts';
import { formatDuration } from '../api/duration.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import { timeOf, timestamp } from '../lib/times.ts';

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

export interface JoinProgress {
  readonly stage: 'launching' | 'registering';
  readonly text: string;
  /** Start of the stage and its deadline. */
  readonly since: string;
  readonly deadline: string;
  readonly elapsedMs: number;
  /** Probable causes in order, if the node has not joined within the usual time. */
  readonly checks: readonly JoinCheck[];
}

/** Returns the progress, or undefined if the node of the NodeClaim has registered. */
export function joinProgress(claim: NodeClaim, nowMs: number): JoinProgress | undefined {
  if (isTrue(claim, 'Registered')) return undefined;
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
  const why = status === 'Unknown' && message !== '' ? ` (${message})` : '';
  const text = `the instance has not been launched for ${elapsed(elapsedMs)}${why}; the NodeClaim is deleted at ${times.deadline}`;
  return { stage: 'launching', text, ...times, checks };
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
