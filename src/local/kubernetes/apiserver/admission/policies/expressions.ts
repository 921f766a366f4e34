/** The expressions of ValidatingAdmissionPolicies: what they may name, and what they see. */
import type { Environment } from '@marcbachmann/cel-js';
import { CelError, celCompiler, type Expression } from '../../../../../api/schema/cel.ts';
import { type ApiObject, at, type Json, list, records, text } from '../../json.ts';
import { type Cause, invalidValue, required } from '../../status.ts';

/** Everything is allowed here, as `kubectl auth can-i` answers too. */
class Authorizer {
  readonly isAllowed = true;
}

const CHECKS = ['group', 'resource', 'subresource', 'namespace', 'name', 'check', 'path', 'fieldSelector'] as const;

function registerAuthorizer(environment: Environment): void {
  environment.registerType('Authorizer', { ctor: Authorizer, fields: {} });
  const self = (authorizer: Authorizer): Authorizer => authorizer;
  for (const name of CHECKS) environment.registerFunction(`Authorizer.${name}(string): Authorizer`, self);
  environment
    .registerFunction('Authorizer.serviceAccount(string, string): Authorizer', self)
    .registerFunction('Authorizer.allowed(): bool', ({ isAllowed }: Authorizer) => isAllowed)
    .registerFunction('Authorizer.reason(): string', () => '')
    .registerFunction('Authorizer.errored(): bool', () => false)
    .registerFunction('Authorizer.error(): string', () => '')
    .registerVariable('authorizer', 'Authorizer');
}

export const AUTHORIZER = new Authorizer();

const REQUEST = ['object', 'oldObject', 'request', 'namespaceObject'];
const compilers = {
  /** Of match conditions. */
  bare: celCompiler(REQUEST, registerAuthorizer, true),
  plain: celCompiler([...REQUEST, 'variables'], registerAuthorizer, true),
  withParams: celCompiler([...REQUEST, 'variables', 'params'], registerAuthorizer, true),
  bareWithParams: celCompiler([...REQUEST, 'params'], registerAuthorizer, true),
};

interface Named {
  readonly name: string;
  readonly source: string;
  readonly expression: Expression;
}

export interface Validation {
  readonly source: string;
  readonly expression: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

/** A policy's expressions, compiled. */
export interface CompiledPolicy {
  readonly conditions: readonly Named[];
  readonly variables: readonly Named[];
  readonly validations: readonly Validation[];
}

/** One place where a policy has an expression. */
interface Place {
  readonly field: string;
  readonly source: string;
  readonly compiler: keyof typeof compilers;
  /** What its value must be; any where it is undefined. */
  readonly type?: 'bool' | 'string';
}

function placesOf(policy: ApiObject): readonly Place[] {
  const hasParams = at(policy, 'spec', 'paramKind') !== undefined;
  const compiler = hasParams ? 'withParams' : 'plain';
  const bare = hasParams ? 'bareWithParams' : 'bare';
  const all = (name: string): readonly (readonly [Json, string])[] =>
    records(at(policy, 'spec', name)).map((one, i) => [one, `spec.${name}[${i}]`] as const);
  return [
    ...all('matchConditions').map(([one, path]) => place(one, path, bare, 'bool')),
    ...all('variables').map(([one, path]) => place(one, path, compiler)),
    ...all('validations').flatMap(([one, path]) => [
      place(one, path, compiler, 'bool'),
      ...(text(one.messageExpression) === ''
        ? []
        : [place({ expression: one.messageExpression }, path, compiler, 'string', 'messageExpression')]),
    ]),
  ];
}

const place = (
  { expression }: Json,
  path: string,
  compiler: keyof typeof compilers,
  type?: 'bool' | 'string',
  name = 'expression',
): Place => ({ field: `${path}.${name}`, source: text(expression), compiler, ...(type && { type }) });

/** What is wrong with a policy's expressions. */
export function expressionCauses(policy: ApiObject): Cause[] {
  const causes: Cause[] = [];
  const spec = policy.spec;
  if (list(at(spec, 'validations')).length === 0 && list(at(spec, 'auditAnnotations')).length === 0)
    for (const field of ['spec.validations', 'spec.auditAnnotations'])
      causes.push(required(field, 'validations or auditAnnotations must contain at least one item'));
  for (const { field, source, compiler, type } of placesOf(policy)) {
    if (source.trim() === '') {
      causes.push(required(field, `${field.split('.').at(-1)} is not specified`));
      continue;
    }
    const fault = faultOf(source, compiler, type);
    if (fault !== undefined) causes.push(invalidValue(field, source, fault));
  }
  return causes;
}

function faultOf(source: string, compiler: keyof typeof compilers, type: string | undefined): string | undefined {
  try {
    const expression = compilers[compiler](source);
    if (expression.fault !== undefined) return `compilation failed: ${expression.fault}`;
    const isRight = type === undefined || expression.type === type || expression.type === 'dyn';
    return isRight ? undefined : `must evaluate to ${type}`;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return `compilation failed: ${error.message}`;
  }
}

const named = (one: Json) => ({ name: text(one.name), source: text(one.expression).trim() });

/** Stored objects never change, so that one is compiled once. */
const compiled = new WeakMap<ApiObject, CompiledPolicy>();

/** @throws CelError when an expression is none, which a stored policy's are */
export function compiledPolicy(policy: ApiObject): CompiledPolicy {
  const known = compiled.get(policy);
  if (known) return known;
  const hasParams = at(policy, 'spec', 'paramKind') !== undefined;
  const compile = compilers[hasParams ? 'withParams' : 'plain'];
  const compileBare = compilers[hasParams ? 'bareWithParams' : 'bare'];
  const spec = policy.spec;
  const made: CompiledPolicy = {
    conditions: records(at(spec, 'matchConditions')).map((one) => ({
      ...named(one),
      expression: compileBare(text(one.expression)),
    })),
    variables: records(at(spec, 'variables')).map((one) => ({
      ...named(one),
      expression: compile(text(one.expression)),
    })),
    validations: records(at(spec, 'validations')).map((one) => ({
      source: text(one.expression).trim(),
      expression: compile(text(one.expression)),
      message: text(one.message).trim(),
      messageExpression: text(one.messageExpression) === '' ? undefined : compile(text(one.messageExpression)),
      reason: text(one.reason),
    })),
  };
  compiled.set(policy, made);
  return made;
}
