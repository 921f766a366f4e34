/**
 * Validation of objects before they are stored: metadata of all objects, and the most important rules of built-in
 * specs.
 */
import { compareQuantities } from '#api/values';
import { own } from '#lib';
import { type ApiObject, at, equal, isRecord, type Json, record, records, text } from '../json.ts';
import type { Resource } from '../resources/registry.ts';
import { objectSelector } from '../selectors.ts';
import { duplicate, fieldForbidden, invalidValue, notSupported, requiredValue, type StatusCause } from '../status.ts';
import { claimCauses, claimStatusCauses, claimTemplateCauses, deviceClassCauses } from './device-claims.ts';
import { labelKeyError, labelNameError, labelValueError, pathSegmentError, subdomainError } from './names.ts';
import { resizeCauses, resizePolicyCauses } from './pod-resize.ts';
import { ADMISSION_POLICIES, policyCauses } from './policies.ts';
import { resourceSliceCauses } from './resource-slices.ts';

/** Resources whose names must be DNS labels. */
const LABEL_NAMED: ReadonlySet<string> = new Set(['namespaces', 'services']);
const LOOSELY_NAMED = /\.rbac\.authorization\.k8s\.io$/;

function nameError(resource: Resource, name: string): string | undefined {
  if (LOOSELY_NAMED.test(resource.storage)) return pathSegmentError(name);
  return LABEL_NAMED.has(resource.storage) ? labelNameError(name) : subdomainError(name);
}

function nameCauses(resource: Resource, { name, generateName }: ApiObject['metadata']): StatusCause[] {
  // a trailing dash is valid, because a suffix follows
  const wrongPrefix = generateName ? nameError(resource, generateName.replace(/.-$/s, 'a')) : undefined;
  const causes = wrongPrefix ? [invalidValue('metadata.generateName', generateName, wrongPrefix)] : [];
  if (!name) return [...causes, requiredValue('metadata.name', 'name or generateName is required')];
  const wrongName = nameError(resource, name);
  return wrongName ? [...causes, invalidValue('metadata.name', name, wrongName)] : causes;
}

function ownerCauses(owner: NonNullable<ApiObject['metadata']['ownerReferences']>[number]): StatusCause[] {
  const path = 'metadata.ownerReferences';
  const [version = '', group = '', more] = (owner.apiVersion ?? '').split('/').reverse();
  const hasVersion = version !== '' && more === undefined;
  return [
    ...(hasVersion ? [] : [invalidValue(`${path}.apiVersion`, owner.apiVersion ?? '', 'version must not be empty')]),
    ...(['kind', 'name', 'uid'] as const)
      .filter((field) => !owner[field])
      .map((field) => invalidValue(`${path}.${field}`, '', 'must not be empty')),
    ...(group === '' && version === 'v1' && owner.kind === 'Event'
      ? [invalidValue(path, owner, '/v1, Kind=Event is disallowed from being an owner')]
      : []),
  ];
}

/** Returns the causes why an object's metadata is invalid. */
export function metadataCauses(resource: Resource, { metadata }: ApiObject): StatusCause[] {
  const causes = nameCauses(resource, metadata);
  causes.push(...labelCauses(metadata.labels, 'metadata.labels'));
  for (const key of Object.keys(metadata.annotations ?? {})) {
    const wrong = labelKeyError(key.toLowerCase());
    if (wrong) causes.push(invalidValue('metadata.annotations', key, wrong));
  }
  for (const finalizer of metadata.finalizers ?? []) {
    const wrong = labelKeyError(finalizer);
    if (wrong) causes.push(invalidValue('metadata.finalizers', finalizer, wrong));
  }
  causes.push(...(metadata.ownerReferences ?? []).flatMap(ownerCauses));
  return causes;
}

function workloadCauses(object: ApiObject, old?: ApiObject): StatusCause[] {
  const spec = record(object.spec);
  const causes: StatusCause[] = [];
  const replicas = spec.replicas;
  if (typeof replicas === 'number' && replicas < 0) {
    causes.push(invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0'));
  }
  if (!isRecord(spec.selector)) causes.push(requiredValue('spec.selector'));
  const labels = record(at(spec, 'template', 'metadata', 'labels'));
  if (isRecord(spec.selector) && !objectSelector(spec.selector)(labels)) {
    causes.push(invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'));
  }
  causes.push(...podSpecCauses(at(spec, 'template', 'spec'), 'spec.template.spec'));
  if (old && !equal(at(old, 'spec', 'selector'), spec.selector)) {
    causes.push(invalidValue('spec.selector', spec.selector, 'field is immutable'));
  }
  return causes;
}

/** Fields of a pod's spec that may change after its creation, in addition to the images of containers. */
const MUTABLE_POD_FIELDS: ReadonlySet<string> = new Set([
  'activeDeadlineSeconds',
  'terminationGracePeriodSeconds',
  'tolerations',
  'schedulingGates',
  'ephemeralContainers',
  'priority',
]);

function mayChange(field: string, before: Json, after: Json): boolean {
  if (field === 'containers' || field === 'initContainers') {
    return equal(withoutImages(before[field]), withoutImages(after[field]));
  }
  // nodeSelector and affinity may change while the pod has a scheduling gate
  if (field === 'nodeSelector' || field === 'affinity') return records(before.schedulingGates).length > 0;
  return MUTABLE_POD_FIELDS.has(field);
}

const withoutImages = (containers: unknown): readonly Json[] =>
  records(containers).map((container) => ({ ...container, image: '', imagePullPolicy: '' }));

/** Tolerations of a pod may be added, and their durations may change. */
function tolerationCauses(before: Json, after: Json): StatusCause[] {
  const lasting = (toleration: Json): Json => ({ ...toleration, tolerationSeconds: undefined });
  const kept = records(after.tolerations).map(lasting);
  const isKept = (toleration: Json): boolean => kept.some((one) => equal(one, lasting(toleration)));
  if (records(before.tolerations).every(isKept)) return [];
  return [fieldForbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

function podCauses(pod: ApiObject, old?: ApiObject): StatusCause[] {
  const causes = podSpecCauses(pod.spec, 'spec');
  if (!old) return causes;
  const before = record(old.spec);
  const spec = record(pod.spec);
  causes.push(...tolerationCauses(before, spec));
  const changed = [...new Set([...Object.keys(before), ...Object.keys(spec)])].filter(
    (field) => !equal(before[field], spec[field]) && !mayChange(field, before, spec),
  );
  if (changed.length === 0) return causes;
  return [
    ...causes,
    fieldForbidden(
      'spec',
      `pod updates may not change fields other than \`spec.containers[*].image\`,\`spec.initContainers[*].image\`,\`spec.activeDeadlineSeconds\`,\`spec.tolerations\` (only additions to existing tolerations),\`spec.terminationGracePeriodSeconds\` (allow it to be set to 1 if it was previously negative) (changed: ${changed.join(', ')})`,
    ),
  ];
}

const PERCENTAGE = /^\d+%$/;

function budgetCauses(budget: ApiObject): StatusCause[] {
  const spec = record(budget.spec);
  const { minAvailable, maxUnavailable } = spec;
  const causes: StatusCause[] = [];
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    causes.push(invalidValue('spec', spec, 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const [field, value] of [
    ['minAvailable', minAvailable],
    ['maxUnavailable', maxUnavailable],
  ] as const) {
    if (typeof value === 'string' && !PERCENTAGE.test(value)) {
      causes.push(
        invalidValue(
          `spec.${field}`,
          value,
          "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ),
      );
    }
    if (typeof value === 'number' && value < 0) {
      causes.push(invalidValue(`spec.${field}`, value, 'must be greater than or equal to 0'));
    }
  }
  return causes;
}

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Each combination of key and effect must be unique, and the effect must exist. */
function taintCauses(node: ApiObject): StatusCause[] {
  const seen = new Set<string>();
  return records(at(node, 'spec', 'taints')).flatMap((taint, i) => {
    const path = `metadata.taints[${i}]`;
    const causes: StatusCause[] = EFFECTS.includes(text(taint.effect))
      ? []
      : [notSupported(`${path}.effect`, taint.effect, EFFECTS)];
    const wrong = labelKeyError(text(taint.key));
    if (wrong) causes.push(invalidValue(`${path}.key`, taint.key, wrong));
    const id = `${text(taint.key)}:${text(taint.effect)}`;
    if (seen.has(id)) causes.push(duplicate(path, taint));
    seen.add(id);
    return causes;
  });
}

/** An event must be in the namespace of its object, or in `default` if the object is cluster-scoped. */
function eventCauses(event: ApiObject): StatusCause[] {
  const about = text(record(event.involvedObject ?? event.regarding).namespace);
  const { namespace = '' } = event.metadata;
  const fits = about === '' ? ['default', 'kube-system'].includes(namespace) : about === namespace;
  return fits ? [] : [invalidValue('involvedObject.namespace', about, 'does not match event.namespace')];
}

function nodeCauses(node: ApiObject, old?: ApiObject): StatusCause[] {
  const causes = taintCauses(node);
  const before = text(at(old, 'spec', 'providerID'));
  if (before === '' || text(at(node, 'spec', 'providerID')) === before) return causes;
  return [
    ...causes,
    fieldForbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'),
  ];
}

function jobCauses(job: ApiObject, old?: ApiObject): StatusCause[] {
  const causes = podSpecCauses(at(job, 'spec', 'template', 'spec'), 'spec.template.spec');
  const restart = at(job, 'spec', 'template', 'spec', 'restartPolicy');
  if (restart !== 'OnFailure' && restart !== 'Never') {
    causes.push(notSupported('spec.template.spec.restartPolicy', restart, ['OnFailure', 'Never']));
  }
  if (old && !equal(at(old, 'spec', 'template'), at(job, 'spec', 'template'))) {
    causes.push(invalidValue('spec.template', at(job, 'spec', 'template'), 'field is immutable'));
  }
  return causes;
}

function definitionCauses(definition: ApiObject): StatusCause[] {
  const spec = record(definition.spec);
  const name = `${text(at(spec, 'names', 'plural'))}.${text(spec.group)}`;
  const causes: StatusCause[] = [];
  if (definition.metadata.name !== name) {
    causes.push(invalidValue('metadata.name', definition.metadata.name, `must be spec.names.plural+"."+spec.group`));
  }
  const versions = records(spec.versions);
  if (versions.filter(({ storage }) => storage === true).length !== 1) {
    causes.push(
      invalidValue(
        'spec.versions',
        versions.map((v) => v.name),
        'must have exactly one version marked as storage version',
      ),
    );
  }
  for (const [i, version] of versions.entries()) {
    if (!isRecord(at(version, 'schema', 'openAPIV3Schema'))) {
      causes.push(requiredValue(`spec.versions[${i}].schema.openAPIV3Schema`, 'schemas are required'));
    }
  }
  return causes;
}

const CHECKS: Readonly<Record<string, (object: ApiObject, old?: ApiObject) => StatusCause[]>> = {
  pods: podCauses,
  nodes: nodeCauses,
  events: eventCauses,
  'deployments.apps': workloadCauses,
  'replicasets.apps': workloadCauses,
  'statefulsets.apps': workloadCauses,
  'daemonsets.apps': workloadCauses,
  'jobs.batch': jobCauses,
  'poddisruptionbudgets.policy': budgetCauses,
  'customresourcedefinitions.apiextensions.k8s.io': definitionCauses,
  [ADMISSION_POLICIES]: policyCauses,
  'resourceclaims.resource.k8s.io': claimCauses,
  'resourceclaimtemplates.resource.k8s.io': claimTemplateCauses,
  'resourceslices.resource.k8s.io': resourceSliceCauses,
  'deviceclasses.resource.k8s.io': deviceClassCauses,
  'storageclasses.storage.k8s.io': (object) => (text(object.provisioner) === '' ? [requiredValue('provisioner')] : []),
};

/**
 * Returns the causes why a built-in object is invalid. `old` is the object that it replaces.
 * @param part `status` if only the status is written
 */
export function builtinCauses(resource: Resource, object: ApiObject, old?: ApiObject, part?: 'status'): StatusCause[] {
  if (part === undefined || old === undefined) return CHECKS[resource.storage]?.(object, old) ?? [];
  return resource.storage === 'resourceclaims.resource.k8s.io' ? claimStatusCauses(object, old) : [];
}

/** Returns the causes why an update of the subresource `resize` of a pod is not valid. */
export function podResizeCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  return [...podSpecCauses(pod.spec, 'spec'), ...resizeCauses(pod, old)];
}

/** @param path path of the spec in its object */
function podSpecCauses(spec: unknown, path: string): StatusCause[] {
  if (!isRecord(spec)) return [requiredValue(path)];
  const containers = records(spec.containers);
  if (containers.length === 0) return [requiredValue(`${path}.containers`)];
  const seen = new Set<string>();
  return [
    ...containers.flatMap((c, i) => containerCauses(c, `${path}.containers[${i}]`, seen)),
    ...records(spec.initContainers).flatMap((c, i) => containerCauses(c, `${path}.initContainers[${i}]`, seen)),
    ...labelCauses(spec.nodeSelector, `${path}.nodeSelector`),
  ];
}

function containerCauses(container: Json, path: string, seen: Set<string>): StatusCause[] {
  const name = text(container.name);
  const causes: StatusCause[] = [];
  const wrong = name === '' ? undefined : labelNameError(name);
  if (name === '') causes.push(requiredValue(`${path}.name`));
  else if (wrong) causes.push(invalidValue(`${path}.name`, name, wrong));
  else if (seen.has(name)) causes.push(duplicate(`${path}.name`, name));
  seen.add(name);
  if (text(container.image) === '') causes.push(requiredValue(`${path}.image`));
  causes.push(...resizePolicyCauses(container, path));
  return [...causes, ...resourceCauses(record(container.resources), `${path}.resources`)];
}

function resourceCauses(resources: Json, path: string): StatusCause[] {
  const [requests, limits] = [record(resources.requests), record(resources.limits)];
  const causes = Object.entries(requests).flatMap(([name, request]) => {
    const cause = requestCause(name, String(request), own(limits, name), path);
    return cause === undefined ? [] : [cause];
  });
  const names = Object.keys({ ...requests, ...limits });
  const needsMore = names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory');
  return needsMore ? [...causes, fieldForbidden(path, 'HugePages require cpu or memory')] : causes;
}

/** A request must not exceed its limit. If a resource cannot be overcommitted, both must be equal. */
function requestCause(name: string, request: string, limit: unknown, path: string): StatusCause | undefined {
  const isShared = !isExtended(name) && !isHugePages(name);
  if (limit === undefined) {
    const detail = 'Limit must be set for non overcommitable resources';
    return isShared ? undefined : requiredValue(`${path}.limits`, detail);
  }
  const order = compareQuantities(request, String(limit));
  if (isShared ? order <= 0 : order === 0) return undefined;
  const rule = isShared ? 'less than or equal' : 'equal';
  return invalidValue(`${path}.requests`, request, `must be ${rule} to ${name} limit of ${String(limit)}`);
}

/** Extended resources have the domain of their vendor as a prefix. */
const isExtended = (name: string): boolean => name.includes('/') && !name.includes('kubernetes.io/');

const isHugePages = (name: string): boolean => name.startsWith('hugepages-');

/** Checks of label maps. */
function labelCauses(labels: unknown, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [key, value] of Object.entries(record(labels))) {
    const wrongKey = labelKeyError(key);
    if (wrongKey) causes.push(invalidValue(path, key, wrongKey));
    const wrongValue = labelValueError(text(value));
    if (wrongValue) causes.push(invalidValue(path, value, wrongValue));
  }
  return causes;
}
