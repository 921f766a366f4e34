/** Which requests a policy, or a binding of it, is about. */
import type { Core } from '../../core.ts';
import { at, type Json, list, record, records, text } from '../../json.ts';
import type { Resource } from '../../resources/registry.ts';
import { objectSelector } from '../../selectors.ts';
import { type AdmissionRequest, namespaceOf } from './request.ts';

/**
 * The version of the request's resource that the constraints name, or undefined when they are not about it. Without rules
 * they are about every resource.
 */
export function matching(core: Core, constraints: Json, request: AdmissionRequest): Resource | undefined {
  if (!selects(core, constraints, request)) return undefined;
  const rules = records(constraints.resourceRules);
  const excluded = records(constraints.excludeResourceRules);
  const isExact = constraints.matchPolicy === 'Exact';
  if (excluded.some((rule) => versionIn(core, rule, request, isExact))) return undefined;
  if (rules.length === 0) return request.resource;
  for (const rule of rules) {
    const version = versionIn(core, rule, request, isExact);
    if (version) return version;
  }
  return undefined;
}

function selects(core: Core, constraints: Json, request: AdmissionRequest): boolean {
  const { object, oldObject } = request;
  const namespace = namespaceOf(core, request);
  const inNamespace = constraints.namespaceSelector
    ? !namespace || objectSelector(constraints.namespaceSelector)(namespace.metadata.labels ?? {})
    : true;
  if (!inNamespace || !constraints.objectSelector) return inNamespace;
  const chosen = objectSelector(constraints.objectSelector);
  return [object, oldObject].some((one) => one !== undefined && chosen(one.metadata?.labels ?? {}));
}

/** The version of the resource that a rule names: that of the request, else an equivalent one. */
function versionIn(core: Core, rule: Json, request: AdmissionRequest, isExact: boolean): Resource | undefined {
  const { resource, operation, name, namespace } = request;
  const names = list(rule.resourceNames);
  if (!has(rule.operations, operation) || (names.length > 0 && !names.includes(name))) return undefined;
  if (rule.scope === 'Namespaced' && namespace === undefined) return undefined;
  if (rule.scope === 'Cluster' && namespace !== undefined) return undefined;
  const others = isExact ? [] : core.registry.all().filter(({ storage }) => storage === resource.storage);
  return [resource, ...others].find((one) => namesVersion(rule, one, request.subresource ?? ''));
}

const namesVersion = (rule: Json, { group, version, plural }: Resource, subresource: string): boolean =>
  has(rule.apiGroups, group) &&
  has(rule.apiVersions, version) &&
  list(rule.resources).some((named) => {
    const [resource = '', part = ''] = text(named).split('/');
    return (resource === '*' || resource === plural) && (part === '*' || part === subresource);
  });

const has = (values: unknown, value: string): boolean => list(values).some((one) => one === '*' || one === value);

export const constraintsOf = (object: unknown, field: string): Json => record(at(object, 'spec', field));
