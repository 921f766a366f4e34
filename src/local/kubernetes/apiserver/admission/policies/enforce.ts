/**
 * ValidatingAdmissionPolicies: what their bindings refuse, and what they warn of. Audit annotations go nowhere here. An
 * evaluation may cost as much as on the API server, and so may all of a policy together: none holds the server up.
 */
import { CelError, celValue, type Expression } from '../../../../../api/schema/cel.ts';
import { BudgetError, withinCost } from '../../../../../api/schema/cel-cost.ts';
import type { Core } from '../../core.ts';
import { type ApiObject, at, list, text } from '../../json.ts';
import type { Resource } from '../../resources/registry.ts';
import { forbidden, StatusError } from '../../status.ts';
import { AUTHORIZER, type CompiledPolicy, compiledPolicy, type Validation } from './expressions.ts';
import { constraintsOf, matching } from './match.ts';
import { ParamsError, paramsOf } from './params.ts';
import { type AdmissionRequest, requestValues } from './request.ts';

const POLICIES = 'validatingadmissionpolicies.admissionregistration.k8s.io';
const BINDINGS = 'validatingadmissionpolicybindings.admissionregistration.k8s.io';
/** Policies are not about what policies are made of, or they could not be taken back. */
const EXEMPT = 'admissionregistration.k8s.io';

interface Denial {
  readonly message: string;
  readonly reason: string;
}

/** Of all evaluations of one policy for one request, as in Kubernetes. */
const MOST_PER_POLICY = 10_000_000;

type Values = Readonly<Record<string, unknown>>;

const CODES: Readonly<Record<string, number>> = { Forbidden: 403, RequestEntityTooLarge: 413 };

/** @throws StatusError 422, or as the validation's reason says, when a policy denies the request */
export function enforcePolicies(core: Core, request: AdmissionRequest): void {
  const bindings = core.store.list(BINDINGS);
  if (bindings.length === 0 || request.resource.group === EXEMPT) return;
  let refusal: StatusError | undefined;
  for (const { object: binding } of bindings) {
    const policy = core.store.get(POLICIES, undefined, text(at(binding, 'spec', 'policyName')))?.object;
    if (!policy) continue;
    const actions = list(at(binding, 'spec', 'validationActions'));
    const of = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`;
    for (const { message, reason } of denialsOf(core, policy, binding, request)) {
      if (actions.includes('Warn')) request.warnings?.push(`Validation failed for ${of}: ${message}`);
      if (actions.includes('Deny')) refusal ??= refused(request, `${of} denied request: ${message}`, reason);
    }
  }
  if (refusal) throw refusal;
}

function refused({ resource, name }: AdmissionRequest, message: string, reason: string): StatusError {
  const { message: whole, details } = forbidden(resource, name, message, [{ message } as never]);
  return new StatusError(CODES[reason] ?? 422, reason === '' ? 'Invalid' : reason, whole, details);
}

/** What the policy has against the request under this binding. */
function denialsOf(core: Core, policy: ApiObject, binding: ApiObject, request: AdmissionRequest): readonly Denial[] {
  const version = matching(core, constraintsOf(policy, 'matchConstraints'), request);
  if (!version || !matching(core, constraintsOf(binding, 'matchResources'), request)) return [];
  const failsOpen = at(policy, 'spec', 'failurePolicy') === 'Ignore';
  try {
    const values = requestValues(core, request, version as Resource);
    return paramsOf(core, policy, binding, request.namespace).flatMap((params) => {
      const seen = { ...values, params: params === undefined ? null : celValue(undefined, params) };
      return withinCost(MOST_PER_POLICY, () => evaluated(compiledPolicy(policy), seen, failsOpen));
    });
  } catch (error) {
    if (error instanceof BudgetError) return failsOpen ? [] : [{ message: error.message, reason: '' }];
    if (!(error instanceof ParamsError)) throw error;
    return failsOpen ? [] : [{ message: `failed to configure binding: ${error.message}`, reason: '' }];
  }
}

function evaluated(policy: CompiledPolicy, request: Values, failsOpen: boolean): readonly Denial[] {
  const values = { ...request, authorizer: AUTHORIZER };
  const outcomes = policy.conditions.map(({ source, expression }) => ({ source, ...outcomeOf(expression, values) }));
  if (outcomes.some(({ value }) => value === false)) return [];
  const broken = outcomes.find(({ error }) => error !== undefined);
  if (broken) return failsOpen ? [] : [{ message: failureOf(broken.source, broken.error), reason: '' }];
  const all = { ...values, variables: variablesOf(policy, values) };
  return policy.validations.flatMap((one) => denialOf(one, all, failsOpen) ?? []);
}

interface Outcome {
  readonly value?: unknown;
  readonly error?: string;
}

function outcomeOf(expression: Expression, values: Values): Outcome {
  try {
    return { value: expression.run(values) };
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return { error: error.message };
  }
}

/** The variables of a policy, each worked out when an expression first names it. */
function variablesOf({ variables }: CompiledPolicy, values: Values): object {
  const all = {};
  for (const { name, expression } of variables) {
    let outcome: Outcome | undefined;
    const get = (): unknown => {
      outcome ??= outcomeOf(expression, { ...values, variables: all });
      if (outcome.error !== undefined) throw new CelError(outcome.error);
      return outcome.value;
    };
    Object.defineProperty(all, name, { enumerable: true, get });
  }
  return all;
}

function denialOf(validation: Validation, values: Values, failsOpen: boolean): Denial | undefined {
  const { value, error } = outcomeOf(validation.expression, values);
  const { reason, source } = validation;
  if (error !== undefined) return failsOpen ? undefined : { reason, message: failureOf(source, error) };
  return value === true ? undefined : { reason, message: messageOf(validation, values) };
}

const failureOf = (source: string, error = ''): string => `expression '${source}' resulted in error: ${error}`;

function messageOf({ message, messageExpression, source }: Validation, values: Values): string {
  const made = messageExpression && text(outcomeOf(messageExpression, values).value).trim();
  // A message of several lines would not fit into a header.
  if (made && !made.includes('\n')) return made;
  return message || `failed expression: ${source}`;
}
