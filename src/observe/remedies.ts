/**
 * Remedies for error lines, for the field `remedy`. For a denied call, the remedy is the missing permission. For other lines, it
 * depends on the message. A call with a more specific remedy passes its own.
 */
import { own } from '#lib';
import type { LogFields } from './logger.ts';

const LOOK_AT_CLAIM = 'kubectl describe nodeclaim shows the reason for the wait; it is retried';
const TELL_US = 'report this defect of the operator with this line; other work continues';
const AWS_ANSWER =
  'no action is needed, because the others are used; if it persists, report it with the version of the operator';
const API_SERVER = 'check the health of the API server, and the network between it and the operator';
const HTTP_CLIENT = 'check the client: it closed its connection, or requested data that is not available now';

/** Remedies by message. Each message of `log.error` is listed here, unless its call passes a remedy. */
export const REMEDIES: Readonly<Record<string, string>> = {
  'Reconciler error': 'it is retried; if it persists, check the conditions and events of the object',
  'repeated write conflicts, retrying': 'check for another controller that writes the same object',
  'could not schedule pod': 'run karpenter explain pod NAME, which shows the necessary change for each NodePool',
  'ignoring nodepool, not ready':
    'run kubectl describe for the NodePool and its EC2NodeClass; a condition has the reason',
  'please correct found invalid values, proceeding with valid values':
    'correct the values of the requirement in this line; nodes never have the invalid values',
  'halted the rollout of the nodepool':
    'correct the cause that the error names in the NodePool or its NodeClass; the rollout then starts again',
  'holding back launches': 'correct the cause that the error names; /debug/launches and the NodePool list all causes',
  'forgetting a cause of unproductive launches, there are too many':
    'correct the causes that /debug/launches lists; the allowance of the NodePool still bounds its launches',
  'forgetting a launch before its outcome is known, there are too many':
    'no action is needed; if its node does not serve its pods, this is not counted',
  'no offering is available for the nodepool':
    'run karpenter offerings to list unavailable offerings; allow more types or zones',
  'ignoring the node fee of the nodepool': 'correct the annotation that the error names, or remove it',
  'could not pack pods at a lower price, launching the nodes of first-fit':
    'no action is needed; the nodes may cost more',
  'failed launching nodeclaim':
    'the pods are scheduled again; karpenter offerings and the EC2NodeClass show the reason',
  'failed refreshing the live page, trying again':
    'if it persists, report it with this line; the page shows old prices',
  'failed recording registration failure': 'no action is needed; the NodeClaim is replaced',
  'missing taint prevents registration-related race conditions on Karpenter-managed nodes':
    'have the user data or the AMI register nodes with the taint karpenter.sh/unregistered:NoExecute',
  'unreadable field of nodeclaim': 'correct the field in the NodePool, or delete the NodeClaim',
  'ignoring an invalid object': 'correct the field that the error names',
  'watches are silent, listing instead':
    'check the network and the proxies between the operator and the API server; voluntary disruption pauses until watches deliver events again',
  'received an invalid object': 'correct the field that the error names, or delete the object',
  'failed updating capacity buffers': 'it is retried; kubectl describe capacitybuffer shows its conditions',
  'failed updating provisioning requests': 'it is retried; kubectl describe provisioningrequest shows its conditions',
  'ignoring node overlays that exceed the limit':
    'merge or delete NodeOverlays; kubectl get nodeoverlays shows those that are not Ready; the lowest weights are left out first',
  'failed measuring node': 'correct the quantity in the error; until then, the metrics of the node are missing',
  'failed changing the deletion cost of pods':
    'it is tried again in five minutes; the chart grants the right to patch pods with settings.podDeletionCost',
  'ended the launch of an incomplete gang':
    'correct the cause that the error names; karpenter explain pod shows it with the time of the next attempt',
  'failed reading the pause':
    'correct or delete the ConfigMap karpenter-pause; if it is forbidden, grant get on it, as the chart does',
  'missing the right to nominate nodes for pods':
    'pods get nodes without nominations; grant patch on pods/status with settings.podNomination of the chart, or unset POD_NOMINATION',
  'missing the right to show drains in the conditions of nodes':
    'nodes are drained without conditions; grant patch on nodes/status with settings.drainConditions of the chart, or unset DRAIN_CONDITIONS',
  'failed nominating a node for a pod': 'no action is needed, kube-scheduler chooses the node of the pod',
  'failed computing consolidation':
    'no action is needed, the node is not disrupted; if it persists, report it with this line',
  'skipping, unable to resolve instance types':
    'correct the error in the EC2NodeClass of the NodePool; it launches no nodes until then',
  'failed listing instance types':
    'correct the error in the EC2NodeClass of the NodePool; its nodes are not disrupted until then',
  'devices of new nodes are suspended':
    'compare the ResourceSlices of the node with the declared devices; docs/dra.md describes the sources',
  'detected disruption budget errors': 'correct spec.disruption.budgets of the NodePool that the error names',
  'failed terminating nodes while executing a disruption command': `the nodes stay and may be used again; ${LOOK_AT_CLAIM}`,
  'ignoring unknown keys of settings.kubernetes in user data': 'correct spec.userData of the EC2NodeClass',
  'ignoring capacity reservation of an unknown kind': 'remove it from spec.capacityReservationSelectorTerms',
  'not authorized to call ec2:DescribeInstanceStatus, instance status checks are off':
    'allow ec2:DescribeInstanceStatus, and restart the operator',
  'failed to create valid sqs provider':
    'set INTERRUPTION_QUEUE to the name of an existing queue that the operator may read',
  'failed parsing interruption message': 'no action is needed, it is deleted; check for other senders to the queue',
  'ignoring ssm parameter, its value is not an image ID':
    'correct the alias in spec.amiSelectorTerms of the EC2NodeClass',
  'ignoring ssm parameter, it does not exist': 'correct the alias in spec.amiSelectorTerms of the EC2NodeClass',
  'ignoring ssm parameter, access is denied': 'allow ssm:GetParameter for it; otherwise its variant is not launched',
  'failed parsing instance id': 'correct or delete the NodeClaim: its providerID is not one of EC2',
  'failed while checking on-demand fallback': 'allow more instance types in the requirements of the NodePool',
  'received more instances than requested, ignoring the surplus': 'no action is needed; the surplus is terminated',
  'ignoring invalid prices': AWS_ANSWER,
  'ignoring invalid instance types': AWS_ANSWER,
  'user data is close to the size limit of EC2': 'make spec.userData of the EC2NodeClass shorter',
  'failed to delete launch template': 'no action is needed; it is retried, and a template has no cost',
  'failed to list launch templates': 'no action is needed; unused launch templates are deleted later',
  'failed accepting a connection': 'raise the number of files that the process may open',
  'failed serving request': HTTP_CLIENT,
  'an engine worker ended, starting a new one': 'raise controller.resources.limits.memory if it ran out of memory',
  'engine workers repeatedly ended, failing /healthz to restart the container':
    'raise controller.resources.limits.memory, or delete the pod that the lines before name',
  'failed exporting traces':
    'check the collector and its connection: OTEL_EXPORTER_OTLP_ENDPOINT and …_HEADERS; other work is not affected',
  'failed recording event': API_SERVER,
  'failed storing a document in its ConfigMap':
    'run helm upgrade, which creates the ConfigMap and allows get and update of it in the Role of the namespace; it is retried',
  'failed reading the stored document, keeping it and starting with an empty one':
    'no action is needed; the key unread.json.gz keeps the previous content for a version that can read it',
  'not using a ConfigMap that was created by another client':
    'delete the ConfigMap; otherwise no history is kept across restarts; COST_HISTORY=false and SPOT_RISK=0 disable it',
  'the API server serves no requests, retrying': API_SERVER,
  'failed handling event': TELL_US,
  'informer ended': TELL_US,
  'failed listing, retrying': API_SERVER,
  'failed watching, retrying': API_SERVER,
  'leader election lost': `the process restarts; if it persists, ${API_SERVER}`,
  'failed acquiring lease, retrying': API_SERVER,
  'ignoring an invalid entry of the price book': 'correct the field in the error; other entries are used',
  'failed reading the price book, using the previous version': 'correct the file that --price-book names',
  'an entry of the price book expires soon': 'renew it, and import it again: karpenter prices import --help',
  'an entry of the price book has expired': 'remove it from the price book, or renew it and import it again',
  'ignoring a setting': 'correct its name, or remove it',
  'failed reading settings': 'correct the setting that the error names: controller.env and settings of the chart',
  'failed starting': 'correct the cause in the error; the container restarts automatically',
  'the heap of the main thread is nearly full, ending the process':
    'raise controller.resources.limits.memory of the chart; the container restarts automatically',
  'work in hand did not finish in time, ending the process':
    'check for calls to AWS or the API server without a response; the next leader continues with their objects',
  'ending the process after an error that no code handles': TELL_US,
};

const DENIED: ReadonlySet<unknown> = new Set([
  'UnauthorizedOperation',
  'AccessDenied',
  'AccessDeniedException',
  'AuthorizationError',
]);

/** @param fields all fields of the line, including its context, with `error` already as text */
export function remedyFor(message: string, fields: LogFields): string | undefined {
  if (DENIED.has(fields['aws-error-code']))
    return `allow ${String(fields['aws-service-name']).toLowerCase()}:${fields['aws-operation-name']} in the policies of the operator's role`;
  const known = own(REMEDIES, message);
  if (message !== 'Reconciler error') return known;
  const { controllerKind, name, namespace } = fields;
  if (!controllerKind || !name) return known;
  const place = namespace ? ` -n ${namespace}` : '';
  return `it is retried; kubectl describe ${String(controllerKind).toLowerCase()} ${name}${place} shows its conditions and events`;
}
