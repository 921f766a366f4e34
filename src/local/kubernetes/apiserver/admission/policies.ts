/**
 * ValidatingAdmissionPolicies: evaluates their expressions for creates, updates and deletions. Parameters, `authorizer`
 * and functions that the CEL library lacks are refused when the policy is written.
 */
import { celValue, type Expression, expressionCompiler } from '#api/schema';
import { messageOf } from '#lib';
import type { Core } from '../core.ts';
import { type ApiObject, at, isRecord, type Json, list, record, records, text } from '../json.ts';
import type { Resource } from '../resources/registry.ts';
import { objectSelector } from '../selectors.ts';
import { fieldForbidden, forbidden, invalidValue, type StatusCause, StatusError } from '../status.ts';

export const ADMISSION_POLICIES = 'validatingadmissionpolicies.admissionregistration.k8s.io';
const BINDINGS = 'validatingadmissionpolicybindings.admissionregistration.k8s.io';
/** Group of the policies themselves, to which no policy applies. */
const OWN_GROUP = 'admissionregistration.k8s.io';

/** A write of an object, in the version of its request. */
export interface Write {
  readonly resource: Resource;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly object?: ApiObject | undefined;
  readonly old?: ApiObject | undefined;
  readonly subresource?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly warnings?: string[] | undefined;
}

const compile = expressionCompiler(['object', 'oldObject', 'request', 'params', 'namespaceObject', 'variables']);

interface Check {
  readonly expression: string;
  readonly program: Expression;
  readonly explain: Expression | undefined;
  readonly message: string;
  readonly reason: string;
}

interface Policy {
  readonly conditions: readonly Check[];
  readonly variables: readonly { readonly name: string; readonly program: Expression }[];
  readonly checks: readonly Check[];
}

/** Compiled policies by stored object. */
const compiled = new WeakMap<ApiObject, Policy>();

function compiledPolicy(policy: ApiObject): Policy {
  const known = compiled.get(policy);
  if (known) return known;
  const spec = record(policy.spec);
  const check = (each: Json): Check => ({
    expression: text(each.expression),
    program: compile(text(each.expression)),
    explain: typeof each.messageExpression === 'string' ? compile(each.messageExpression) : undefined,
    message: text(each.message) || `failed expression: ${text(each.expression).trim()}`,
    reason: text(each.reason) || 'Invalid',
  });
  const result = {
    conditions: records(spec.matchConditions).map(check),
    variables: records(spec.variables).map((each) => ({
      name: text(each.name),
      program: compile(text(each.expression)),
    })),
    checks: records(spec.validations).map(check),
  };
  compiled.set(policy, result);
  return result;
}

/** Returns the causes why a policy cannot be evaluated here. */
export function policyCauses(policy: ApiObject): StatusCause[] {
  const spec = record(policy.spec);
  const expressions = (['matchConditions', 'variables', 'validations'] as const).flatMap((field) =>
    records(spec[field]).flatMap((each, index) =>
      (['expression', 'messageExpression'] as const).flatMap((name) =>
        typeof each[name] === 'string' ? [[`spec.${field}[${index}].${name}`, each[name]] as const] : [],
      ),
    ),
  );
  const causes = expressions.flatMap(([path, expression]) => expressionCauses(path, expression));
  if (spec.paramKind === undefined) return causes;
  return [...causes, fieldForbidden('spec.paramKind', 'parameters are not supported by the local API server')];
}

function expressionCauses(path: string, expression: string): StatusCause[] {
  try {
    if (compile(expression).isKnown) return [];
    const why = 'calls a function or reads a variable that the local API server does not support';
    return [invalidValue(path, expression, why)];
  } catch (error) {
    return [invalidValue(path, expression, `compilation failed: ${messageOf(error)}`)];
  }
}

/**
 * Evaluates the policies whose bindings match a write.
 *
 * @throws StatusError 401, 403, 413 or 422, by the reason of the policy, if a binding denies the write
 */
export function checkPolicies(core: Core, write: Write): void {
  const policies = core.store.list(ADMISSION_POLICIES);
  if (policies.length === 0 || write.resource.group === OWN_GROUP) return;
  const bindings = core.store.list(BINDINGS).map(({ object }) => object);
  for (const { object: policy } of policies) {
    const bound = bindings.filter(
      (binding) => at(binding, 'spec', 'policyName') === policy.metadata.name && isBound(core, binding, write),
    );
    if (bound.length === 0 || !isMatch(core, at(policy, 'spec', 'matchConstraints'), write)) continue;
    for (const failure of failures(policy, valuesOf(core, write)))
      for (const one of bound) act(policy, one, failure, write);
  }
}

const isBound = (core: Core, binding: ApiObject, write: Write): boolean => {
  const constraints = at(binding, 'spec', 'matchResources');
  return constraints === undefined || isMatch(core, constraints, write);
};

function isMatch(core: Core, constraints: unknown, write: Write): boolean {
  const {
    resourceRules,
    excludeResourceRules,
    namespaceSelector,
    objectSelector: selector,
    matchPolicy,
  } = record(constraints);
  const isRule = (rule: Json): boolean => matchesRule(core, rule, write, matchPolicy !== 'Exact');
  // A binding without rules narrows its policy by selectors only.
  if (resourceRules !== undefined && !records(resourceRules).some(isRule)) return false;
  if (records(excludeResourceRules).some(isRule)) return false;
  const namespace = namespaceOf(core, write);
  if (isRecord(namespaceSelector) && namespace && !objectSelector(namespaceSelector)(namespace.metadata.labels ?? {}))
    return false;
  return (
    !isRecord(selector) ||
    [write.object, write.old].some((each) => each && objectSelector(selector)(each.metadata.labels ?? {}))
  );
}

/** @param anyVersion also matches requests for other versions of the resource */
function matchesRule(
  core: Core,
  rule: Json,
  { resource, operation, object, old, subresource }: Write,
  anyVersion: boolean,
): boolean {
  const includes = (field: string, ...values: readonly string[]): boolean => {
    const given = list(rule[field]);
    return given.includes('*') || values.some((value) => given.includes(value));
  };
  const served = core.registry.all().filter(({ storage }) => anyVersion && storage === resource.storage);
  const versions = [resource.version, ...served.map(({ version }) => version)];
  const names = list(rule.resourceNames);
  const isNamed = names.length === 0 || names.includes((object ?? old)?.metadata.name ?? '');
  const scope = text(rule.scope) || '*';
  const { plural } = resource;
  const paths =
    subresource === undefined ? [plural, '*'] : [`${plural}/${subresource}`, `${plural}/*`, `*/${subresource}`];
  return (
    includes('apiGroups', resource.group) &&
    includes('apiVersions', ...versions) &&
    includes('operations', operation) &&
    [...paths, '*/*'].some((path) => list(rule.resources).includes(path)) &&
    isNamed &&
    (scope === '*' || (scope === 'Namespaced') === resource.namespaced)
  );
}

/** Returns the namespace that decides about a write: that of the object, or the object itself. */
function namespaceOf(core: Core, { resource, object, old }: Write): ApiObject | undefined {
  const subject = object ?? old;
  if (resource.storage === 'namespaces') return subject;
  const name = subject?.metadata.namespace;
  return name === undefined ? undefined : core.store.get('namespaces', undefined, name)?.object;
}

type Values = Record<string, unknown>;

function valuesOf(core: Core, write: Write): Values {
  const { resource, object, old, operation, subresource = '', dryRun = false } = write;
  const { group, version, kind, plural } = resource;
  const subject = object ?? old;
  const kinds = { group, version, kind };
  const resources = { group, version, resource: plural };
  const request = {
    uid: core.random.uuid(),
    kind: kinds,
    resource: resources,
    subResource: subresource,
    requestKind: kinds,
    requestResource: resources,
    requestSubResource: subresource,
    name: subject?.metadata.name ?? '',
    namespace: subject?.metadata.namespace ?? '',
    operation,
    userInfo: { username: 'system:admin', groups: ['system:masters', 'system:authenticated'] },
    dryRun,
    options: {},
  };
  const namespace = resource.storage === 'namespaces' ? undefined : namespaceOf(core, write);
  return {
    object: object === undefined ? null : celValue(undefined, object),
    oldObject: old === undefined ? null : celValue(undefined, old),
    request: celValue(undefined, request),
    params: null,
    namespaceObject: namespace === undefined ? null : celValue(undefined, namespace),
  };
}

interface Failure {
  readonly message: string;
  readonly reason: string;
}

/** Returns the failures of a policy. An error is a failure, unless the policy ignores errors. */
function failures(policy: ApiObject, given: Values): readonly Failure[] {
  const { conditions, variables, checks } = compiledPolicy(policy);
  const values: Values = { ...given, variables: {} };
  for (const { name, program } of variables) {
    // Evaluated on first use, as a variable may fail for objects whose checks do not read it.
    Object.defineProperty(values.variables, name, {
      enumerable: true,
      configurable: true,
      get: () => program.run(values),
    });
  }
  const found: Failure[] = [];
  const holds = ({ expression, program }: Check): boolean | undefined => {
    try {
      return program.run(values) === true;
    } catch (error) {
      if (at(policy, 'spec', 'failurePolicy') !== 'Ignore')
        found.push({
          message: `expression '${expression}' resulted in error: ${messageOf(error)}`,
          reason: 'Invalid',
        });
      return undefined;
    }
  };
  if (conditions.map(holds).some((one) => one !== true)) return found;
  for (const check of checks) {
    if (holds(check) === false) found.push({ message: explanation(check, values), reason: check.reason });
  }
  return found;
}

/** Returns the text of the message expression if it is a line, otherwise the fixed message. */
function explanation({ explain, message }: Check, values: Values): string {
  try {
    const written = explain?.run(values);
    return typeof written === 'string' && written.trim() !== '' && !written.includes('\n') ? written : message;
  } catch {
    return message;
  }
}

const CODES: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 };

/** Carries out the actions of a binding. */
function act(policy: ApiObject, binding: ApiObject, { message, reason }: Failure, write: Write): void {
  const actions = list(at(binding, 'spec', 'validationActions'));
  const names = `'${policy.metadata.name}' with binding '${binding.metadata.name}'`;
  if (actions.includes('Warn'))
    write.warnings?.push(`Validation failed for ValidatingAdmissionPolicy ${names}: ${message}`);
  if (!actions.includes('Deny')) return;
  const why = `ValidatingAdmissionPolicy ${names} denied request: ${message}`;
  const name = (write.object ?? write.old)?.metadata.name ?? '';
  const error = forbidden(write.resource, name, why, [{ message: why } as StatusCause]);
  throw new StatusError(CODES[reason] ?? 422, reason, error.message, error.details);
}
