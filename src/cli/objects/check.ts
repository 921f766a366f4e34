/** Checks the fields of built-in objects that the engine relies on. */
import { isQuantity } from '#api/values';
import { Field, type Wording } from '#lib';
import { InputError } from './errors.ts';

/** Types with error messages that omit the value, because the value may be large. */
const UNQUOTED: readonly string[] = ['an object', 'a list', 'a number'];

const WORDING: Omit<Wording, 'error'> = {
  text: 'a string',
  object: 'an object',
  problem: (expected, value) => {
    if ((value === undefined || value === null) && expected !== 'a number') return 'is required';
    return `must be ${expected}${UNQUOTED.includes(expected) ? '' : `, not ${JSON.stringify(value)}`}`;
  },
};

/** Returns a value of a file as a field whose methods throw an InputError. */
export const fieldIn = (where: string, value: unknown, path = ''): Field => {
  const error = (at: string, problem: string) => new InputError(where, `${at === '' ? 'object' : at}: ${problem}`);
  return new Field(value, { ...WORDING, error }, path);
};

/** Checks that every entry is a quantity. */
export function checkQuantities(list: Field): void {
  for (const name of list.keys()) {
    const field = list.at(name);
    const { value } = field;
    if ((typeof value !== 'string' && typeof value !== 'number') || !isQuantity(value))
      field.fail(
        `${JSON.stringify(value)} is not a quantity; use a number with an optional suffix, for example 100, 500m or 2Gi`,
      );
  }
}

function checkTexts(map: Field): void {
  for (const key of map.keys()) map.at(key).given?.text();
}

const NODE_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];

/** Checks requirements of nodes or labels. */
export function checkExpressions(list: Field, operators: readonly string[]): void {
  for (const expression of list.items()) {
    expression.at('key').text();
    expression.at('operator').oneOf(...operators);
    for (const value of expression.at('values').items()) value.text();
  }
}

function checkSelector(selector: Field): void {
  checkTexts(selector.at('matchLabels'));
  checkExpressions(selector.at('matchExpressions'), NODE_OPERATORS.slice(0, 4));
}

function checkAffinityTerm(term: Field): void {
  term.at('topologyKey').text();
  checkSelector(term.at('labelSelector'));
  checkSelector(term.at('namespaceSelector'));
}

function checkAffinity(affinity: Field): void {
  const node = affinity.at('nodeAffinity');
  const required = node.at('requiredDuringSchedulingIgnoredDuringExecution');
  if (!required.isMissing) required.at('nodeSelectorTerms').required();
  for (const term of required.at('nodeSelectorTerms').items())
    checkExpressions(term.at('matchExpressions'), NODE_OPERATORS);
  for (const preferred of node.at('preferredDuringSchedulingIgnoredDuringExecution').items()) {
    preferred.at('weight').number();
    checkExpressions(preferred.at('preference').required().at('matchExpressions'), NODE_OPERATORS);
  }
  for (const kind of [affinity.at('podAffinity'), affinity.at('podAntiAffinity')]) {
    for (const term of kind.at('requiredDuringSchedulingIgnoredDuringExecution').items()) checkAffinityTerm(term);
    for (const preferred of kind.at('preferredDuringSchedulingIgnoredDuringExecution').items()) {
      preferred.at('weight').number();
      checkAffinityTerm(preferred.at('podAffinityTerm').required());
    }
  }
}

function checkContainer(container: Field): void {
  checkQuantities(container.at('resources').at('requests'));
  checkQuantities(container.at('resources').at('limits'));
  for (const port of container.at('ports').items()) port.at('hostPort').given?.count();
}

/** Checks the fields of a pod's spec that affect its scheduling. */
export function checkPodSpec(spec: Field): void {
  const containers = spec.required().at('containers').required().items();
  for (const container of [...containers, ...spec.at('initContainers').items()]) checkContainer(container);
  checkQuantities(spec.at('overhead'));
  checkQuantities(spec.at('resources').at('requests'));
  checkTexts(spec.at('nodeSelector'));
  checkAffinity(spec.at('affinity'));
  for (const volume of spec.at('volumes').items()) {
    volume.at('name').given?.text();
    const claim = volume.at('ephemeral').at('volumeClaimTemplate');
    if (!claim.isMissing) checkClaim(claim.at('spec').required());
  }
  for (const gate of spec.at('schedulingGates').items()) gate.at('name').given?.text();
  for (const toleration of spec.at('tolerations').items()) {
    toleration.at('operator').given?.oneOf('Exists', 'Equal', 'Gt', 'Lt', '');
    toleration.at('effect').given?.oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute', '');
  }
  for (const constraint of spec.at('topologySpreadConstraints').items()) {
    constraint.at('maxSkew').required().number();
    constraint.at('topologyKey').text();
    constraint.at('whenUnsatisfiable').oneOf('DoNotSchedule', 'ScheduleAnyway');
    checkSelector(constraint.at('labelSelector'));
  }
}

/** Checks the amounts that the kubelet reports for a pod. */
export function checkPodStatus(status: Field): void {
  const reports = [...status.at('containerStatuses').items(), ...status.at('initContainerStatuses').items()];
  for (const report of [...reports, status]) {
    checkQuantities(report.at('resources').at('requests'));
    checkQuantities(report.at('allocatedResources'));
  }
  for (const claim of status.at('nodeAllocatableResourceClaimStatuses').items()) checkQuantities(claim.at('resources'));
}

function checkClaim(spec: Field): void {
  for (const key of ['storageClassName', 'volumeName']) spec.at(key).given?.text();
}

export function checkWorkload(object: Field): void {
  const spec = object.at('spec').required();
  for (const key of ['replicas', 'completions', 'parallelism']) spec.at(key).given?.count();
  spec.at('ordinals').at('start').given?.count();
  for (const template of spec.at('volumeClaimTemplates').items()) {
    template.at('metadata').at('name').text();
    checkClaim(template.at('spec').required());
  }
  spec.at('template').required();
  checkTexts(spec.at('template').at('metadata').at('labels'));
  checkPodSpec(spec.at('template').at('spec'));
  for (const template of spec.at('volumeClaimTemplates').items()) {
    template.at('metadata').at('name').text();
    template.at('spec').required();
  }
}

export function checkNode(object: Field): void {
  checkTexts(object.at('metadata').at('labels'));
  checkQuantities(object.at('status').at('capacity'));
  checkQuantities(object.at('status').at('allocatable'));
  for (const taint of object.at('spec').at('taints').items()) {
    taint.at('key').text();
    taint.at('effect').oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute');
  }
}
