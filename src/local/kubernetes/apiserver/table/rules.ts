/** The columns of what governs other objects: roles, quotas, autoscalers, webhooks, devices. */
import { own } from '../../../../lib/own.ts';
import { type ApiObject, at, isRecord, type Json, list, record, records, text } from '../json.ts';
import { AGE, type Column, CREATED_AT, column, field, NAME, optional, orNone, wide } from '../resources/columns.ts';

const counted = (name: string, ...path: readonly string[]): Column =>
  column(name, (object) => records(at(object, ...path)).length, { type: 'integer' });

const subjects =
  (kind: string) =>
  (binding: ApiObject): string =>
    records(binding.subjects)
      .filter((subject) => subject.kind === kind)
      .map(({ namespace, name }) => (kind === 'ServiceAccount' ? `${text(namespace)}/${text(name)}` : text(name)))
      .join(', ');

const BINDING_COLUMNS: readonly Column[] = [
  NAME,
  column('Role', ({ roleRef }) => `${text(record(roleRef).kind)}/${text(record(roleRef).name)}`),
  AGE,
  wide('Users', subjects('User')),
  wide('Groups', subjects('Group')),
  wide('ServiceAccounts', subjects('ServiceAccount')),
];

/** `pods: 3/100, requests.cpu: 2/10`, of the resources that are limits or of the others. */
const quota =
  (limits: boolean) =>
  (object: ApiObject): string => {
    const used = record(at(object, 'status', 'used'));
    return Object.entries(record(at(object, 'status', 'hard')))
      .filter(([name]) => name.startsWith('limits') === limits)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, hard]) => `${name}: ${text(own(used, name)) || '0'}/${text(hard)}`)
      .join(', ');
  };

function controller({ metadata }: ApiObject): string {
  const owner = metadata.ownerReferences?.find((one) => one.controller === true);
  if (!owner) return '<none>';
  const group = owner.apiVersion.includes('/') ? owner.apiVersion.replace(/\/.*/, '') : '';
  return `${owner.kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${owner.name}`;
}

/** What a metric measures, how much of it there is and how much is wanted: `cpu: 20%/50%`. */
function target(metric: Json, current: Json): string {
  const kind = text(metric.type);
  const inside = kind.charAt(0).toLowerCase() + kind.slice(1);
  const [wanted, now] = [record(metric[inside]), record(current[inside])];
  const aim = record(wanted.target);
  const value = record(now.current);
  if (aim.averageUtilization !== undefined) {
    const used = value.averageUtilization === undefined ? '<unknown>' : `${String(value.averageUtilization)}%`;
    return `${text(wanted.name)}: ${used}/${String(aim.averageUtilization)}%`;
  }
  const name = kind === 'Resource' || kind === 'ContainerResource' ? `${text(wanted.name)}: ` : '';
  const used = value.averageValue ?? value.value ?? '<unknown>';
  return `${name}${String(used)}/${String(aim.averageValue ?? aim.value ?? '<auto>')}${aim.averageValue === undefined || name !== '' ? '' : ' (avg)'}`;
}

/** How many targets a cell shows. */
const SHOWN = 2;

function targets(autoscaler: ApiObject): string {
  const current = records(at(autoscaler, 'status', 'currentMetrics'));
  const all = records(at(autoscaler, 'spec', 'metrics')).map((metric, i) => target(metric, current[i] ?? {}));
  if (all.length === 0) return '<none>';
  const more = all.length - SHOWN;
  return `${all.slice(0, SHOWN).join(', ')}${more > 0 ? ` + ${more} more...` : ''}`;
}

function claimState(claim: ApiObject): string {
  const allocated = isRecord(at(claim, 'status', 'allocation'));
  const reserved = records(at(claim, 'status', 'reservedFor')).length > 0;
  const states = [
    ...(claim.metadata.deletionTimestamp === undefined ? [] : ['deleted']),
    ...(allocated ? ['allocated'] : []),
    ...(reserved ? ['reserved'] : []),
  ];
  return states.length === 0 ? 'pending' : states.join(',');
}

const named = (name: string, ...path: readonly string[]): Column =>
  column(name, (object) => {
    const found = record(at(object, ...path));
    const { apiVersion, kind, name: own } = found;
    if (Object.keys(found).length === 0) return '<unset>';
    return own === undefined ? `${text(apiVersion)}/${text(kind)}` : text(own);
  });

const WEBHOOKS: readonly Column[] = [NAME, counted('Webhooks', 'webhooks'), AGE];
const NAMED: readonly Column[] = [NAME, AGE];
const flag = (name: string, path: string): Column =>
  column(name, (driver) => at(driver, 'spec', path) === true, { type: 'boolean' });

export const RULE_COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  'roles.rbac.authorization.k8s.io': [NAME, CREATED_AT],
  'clusterroles.rbac.authorization.k8s.io': [NAME, CREATED_AT],
  'rolebindings.rbac.authorization.k8s.io': BINDING_COLUMNS,
  'clusterrolebindings.rbac.authorization.k8s.io': BINDING_COLUMNS,
  resourcequotas: [NAME, column('Request', quota(false)), column('Limit', quota(true)), AGE],
  'controllerrevisions.apps': [
    NAME,
    column('Controller', controller),
    column('Revision', ({ revision }) => Number(revision)),
    AGE,
  ],
  'horizontalpodautoscalers.autoscaling': [
    NAME,
    column('Reference', (autoscaler) => {
      const reference = record(at(autoscaler, 'spec', 'scaleTargetRef'));
      return `${text(reference.kind)}/${text(reference.name)}`;
    }),
    column('Targets', targets),
    column('MinPods', (autoscaler) => String(at(autoscaler, 'spec', 'minReplicas') ?? '<unset>')),
    // Numbers in columns that are declared as text, as Kubernetes has them.
    column('MaxPods', (autoscaler) => Number(at(autoscaler, 'spec', 'maxReplicas'))),
    column('Replicas', (autoscaler) => Number(at(autoscaler, 'status', 'currentReplicas') ?? 0)),
    AGE,
  ],
  'validatingwebhookconfigurations.admissionregistration.k8s.io': WEBHOOKS,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': WEBHOOKS,
  'validatingadmissionpolicies.admissionregistration.k8s.io': [
    NAME,
    counted('Validations', 'spec', 'validations'),
    named('ParamKind', 'spec', 'paramKind'),
    AGE,
  ],
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': [
    NAME,
    field('PolicyName', 'spec', 'policyName'),
    named('ParamRef', 'spec', 'paramRef'),
    AGE,
  ],
  'csidrivers.storage.k8s.io': [
    NAME,
    flag('AttachRequired', 'attachRequired'),
    flag('PodInfoOnMount', 'podInfoOnMount'),
    flag('StorageCapacity', 'storageCapacity'),
    column('TokenRequests', (driver) => {
      const audiences = records(at(driver, 'spec', 'tokenRequests')).map(({ audience }) => text(audience));
      return audiences.length === 0 ? '<unset>' : audiences.join(',');
    }),
    flag('RequiresRepublish', 'requiresRepublish'),
    column('Modes', (driver) => orNone(list(at(driver, 'spec', 'volumeLifecycleModes')).join(','))),
    AGE,
  ],
  'runtimeclasses.node.k8s.io': [NAME, field('Handler', 'handler'), AGE],
  'deviceclasses.resource.k8s.io': NAMED,
  'resourceclaimtemplates.resource.k8s.io': NAMED,
  'resourceclaims.resource.k8s.io': [NAME, column('State', claimState), AGE],
  'resourceslices.resource.k8s.io': [
    NAME,
    optional('Node', 'spec', 'nodeName'),
    field('Driver', 'spec', 'driver'),
    field('Pool', 'spec', 'pool', 'name'),
    AGE,
  ],
};
