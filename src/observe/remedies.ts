/**
 * Remedies for error lines, for the field `remedy`. For a denied call, the remedy is the missing permission. For other lines, it
 * depends on the message. A call with a more specific remedy passes its own.
 */
import { own } from '../lib/own.ts';
import type { LogFields } from './logger.ts';

const LOOK_AT_CLAIM = 'kubectl describe nodeclaim shows what it waits for; it is tried again';
const TELL_US = 'report it with this line: this is a defect of the operator; others go on working';
const AWS_ANSWER = 'nothing to do: the others are used; report it if it lasts, with the version of this operator';
const API_SERVER = 'look at the health of the API server, and at the network between it and the operator';
const HTTP_CLIENT = 'look at who asks: it ends its connection, or asks for what cannot be made now';

/** Remedies by message. Each message of `log.error` is listed here, unless its call passes a remedy. */
export const REMEDIES: Readonly<Record<string, string>> = {
  'Reconciler error': 'it is tried again; if it lasts, look at the conditions and events of the object',
  'writes conflict again and again, retrying': 'look for another controller that writes the same object',
  'could not schedule pod': 'karpenter explain pod NAME says for each NodePool what would have to change',
  'ignoring nodepool, not ready': 'kubectl describe nodepool and its EC2NodeClass: a condition says what is missing',
  'please correct found invalid values, proceeding with valid values':
    'correct the values of the requirement that the line names: no node ever has the invalid ones',
  'holding back launches': 'correct the cause that the error names; /debug/launches and the NodePool list all causes',
  'forgetting a cause of unproductive launches, there are too many':
    'correct the causes that /debug/launches lists; the allowance of the NodePool still bounds its launches',
  'forgetting a launch before its outcome is known, there are too many':
    'nothing to do, unless its node serves no purpose: that is not counted',
  'nothing can be bought for the nodepool now': 'karpenter offerings lists what is out; allow more types or zones',
  'ignoring the node fee of the nodepool': 'correct the annotation that the error names, or remove it',
  'could not pack nodes more cheaply, buying those that were found first': 'nothing to do: the nodes may cost more',
  'failed launching nodeclaim':
    'the pods are scheduled again; karpenter offerings and the EC2NodeClass say what is missing',
  'failed refreshing the live page, trying again': 'report it with this line if it lasts: the page shows old prices',
  'failed recording registration failure': 'nothing to do: the NodeClaim is replaced all the same',
  'missing taint prevents registration-related race conditions on Karpenter-managed nodes':
    'have the user data or the AMI register nodes with the taint karpenter.sh/unregistered:NoExecute',
  'unreadable field of nodeclaim': 'correct the field in the NodePool, or delete the NodeClaim',
  'leaving out an object that cannot be read': 'correct the field that the error names',
  'read an object that cannot be used': 'correct the field that the error names, or delete the object',
  'failed updating capacity buffers': 'it is tried again; kubectl describe capacitybuffer shows its conditions',
  'leaving out node overlays':
    'merge or delete NodeOverlays; kubectl get nodeoverlays shows which are not Ready, the lightest first left out',
  'failed measuring node': 'nothing to do: its metrics are missing; correct the quantity that the error names',
  'failed computing consolidation': 'nothing to do: the node stays; report it with this line if it lasts',
  'detected disruption budget errors': 'correct spec.disruption.budgets of the NodePool that the error names',
  'failed terminating nodes while executing a disruption command': `the nodes stay and may be used again; ${LOOK_AT_CLAIM}`,
  'ignoring unknown keys of settings.kubernetes in user data': 'correct spec.userData of the EC2NodeClass',
  'ignoring capacity reservation of an unknown kind': 'take it out of spec.capacityReservationSelectorTerms',
  'not authorized to call ec2:DescribeInstanceStatus, instance status checks are off':
    'allow ec2:DescribeInstanceStatus, and restart the operator',
  'failed to create valid sqs provider': 'set INTERRUPTION_QUEUE to the name of a queue that is there and may be read',
  'failed parsing interruption message': 'nothing to do: it is deleted; look for who else writes to the queue',
  'ignoring ssm parameter, its value is no image id': 'correct the alias in spec.amiSelectorTerms of the EC2NodeClass',
  'ignoring ssm parameter, it does not exist': 'correct the alias in spec.amiSelectorTerms of the EC2NodeClass',
  'ignoring ssm parameter, it may not be read':
    'allow the operator ssm:GetParameter for it, or do without the image: its variant is not launched',
  'failed parsing instance id': 'correct or delete the NodeClaim: its providerID is not one of EC2',
  'failed while checking on-demand fallback': 'allow more instance types in the requirements of the NodePool',
  'received more instances than requested, ignoring the surplus': 'nothing to do: the surplus is terminated',
  'leaving out prices that cannot be used': AWS_ANSWER,
  'leaving out instance types that cannot be used': AWS_ANSWER,
  'user data is close to the size limit of EC2': 'make spec.userData of the EC2NodeClass shorter',
  'failed to delete launch template': 'nothing to do: it is tried again; a template costs nothing',
  'failed to list launch templates': 'nothing to do: unused ones are deleted later',
  'failed accepting a connection': 'raise the number of files that the process may open',
  'failed serving request': HTTP_CLIENT,
  'an engine worker ended, starting another': 'raise controller.resources.limits.memory if it ran out of memory',
  'engine workers go on ending, failing /healthz to have the container restarted':
    'raise controller.resources.limits.memory, or delete the pod that the lines before name',
  'failed exporting traces':
    'look at the collector and the way to it: OTEL_EXPORTER_OTLP_ENDPOINT and …_HEADERS; nothing else is held up',
  'failed recording event': API_SERVER,
  'failed keeping what is to survive restarts':
    'helm upgrade creates the ConfigMap and allows get and update of it in the Role of the namespace; it is tried again',
  'failed reading what was kept, starting afresh': 'nothing to do: what was kept before is lost',
  'leaving alone a ConfigMap that somebody else made':
    'delete the ConfigMap, or nothing is kept over restarts; COST_HISTORY=false and SPOT_RISK=0 keep nothing',
  'the API server serves no requests, retrying': API_SERVER,
  'failed handling event': TELL_US,
  'informer ended': TELL_US,
  'failed listing, retrying': API_SERVER,
  'failed watching, retrying': API_SERVER,
  'leader election lost': `the process ends and starts again; if it lasts, ${API_SERVER}`,
  'failed acquiring lease, retrying': API_SERVER,
  'leaving out an entry of the price book': 'correct the field that the error names; the other entries count',
  'failed reading the price book, keeping what was read before': 'correct the file that --price-book names',
  'an entry of the price book expires soon': 'renew it, and import it again: karpenter prices import --help',
  'an entry of the price book has expired': 'take it out of the price book, or renew it and import it again',
  'ignoring a setting': 'correct its name, or take it out',
  'failed reading settings': 'correct the setting that the error names: controller.env and settings of the chart',
  'failed starting': 'correct the cause that the error names; the container starts again by itself',
  'the heap of the main thread is nearly full, ending the process':
    'raise controller.resources.limits.memory of the chart; the container starts again by itself',
  'work in hand did not finish in time, ending the process':
    'look for calls to AWS or the API server that were not answered; the next leader goes on with their objects',
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
  return `it is tried again; kubectl describe ${String(controllerKind).toLowerCase()} ${name}${place} shows its conditions and events`;
}
