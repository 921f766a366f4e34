/** The few things about built-in objects that must hold before the engine can look at them. */
import { parseQuantity } from '../../api/quantity.ts';
import { InputError, messageOf } from './errors.ts';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Walks an object with the path of the field at hand, so that every complaint can name it. */
export class Field {
  readonly #where: string;
  readonly #path: string;
  readonly #value: unknown;

  constructor(where: string, value: unknown, path = '') {
    this.#where = where;
    this.#value = value;
    this.#path = path;
  }

  fail(what: string): never {
    throw new InputError(this.#where, `${this.#path === '' ? 'object' : this.#path}: ${what}`);
  }

  /** What was checked. */
  get value(): unknown {
    return this.#value;
  }

  get isMissing(): boolean {
    return this.#value === undefined || this.#value === null;
  }

  at(key: string): Field {
    const path = this.#path === '' ? key : `${this.#path}.${key}`;
    if (this.isMissing) return new Field(this.#where, undefined, path);
    if (!isFields(this.#value)) return this.fail('must be an object');
    return new Field(this.#where, this.#value[key], path);
  }

  required(): this {
    if (this.isMissing) this.fail('is required');
    return this;
  }

  object(): this {
    if (!this.isMissing && !isFields(this.#value)) this.fail('must be an object');
    return this;
  }

  items(): readonly Field[] {
    if (this.isMissing) return [];
    const value = this.#value;
    if (!Array.isArray(value)) return this.fail('must be a list');
    return value.map((item: unknown, index) => new Field(this.#where, item, `${this.#path}[${index}]`));
  }

  text(): this {
    if (!this.isMissing && typeof this.#value !== 'string')
      this.fail(`must be text, not ${JSON.stringify(this.#value)}`);
    return this;
  }

  oneOf(...allowed: readonly string[]): this {
    if (!this.isMissing && !allowed.some((each) => each === this.#value)) {
      this.fail(`must be one of ${allowed.join(', ')}, not ${JSON.stringify(this.#value)}`);
    }
    return this;
  }

  count(): this {
    if (this.isMissing) return this;
    if (!Number.isInteger(this.#value) || Number(this.#value) < 0) {
      this.fail(`must be a whole number from 0 on, not ${JSON.stringify(this.#value)}`);
    }
    return this;
  }

  number(): this {
    if (typeof this.#value !== 'number' || !Number.isFinite(this.#value)) this.fail('must be a number');
    return this;
  }

  /** Every entry a quantity. */
  quantities(): void {
    this.object();
    for (const [name, quantity] of Object.entries(isFields(this.#value) ? this.#value : {})) {
      try {
        if (typeof quantity !== 'string' && typeof quantity !== 'number')
          throw new RangeError('expected text or a number');
        parseQuantity(quantity);
      } catch (error) {
        new Field(this.#where, quantity, `${this.#path}.${name}`).fail(
          `${JSON.stringify(quantity)} is not a quantity such as 500m or 2Gi (${messageOf(error)})`,
        );
      }
    }
  }

  /** Every entry text. */
  textMap(): void {
    this.object();
    for (const key of Object.keys(isFields(this.#value) ? this.#value : {})) this.at(key).text();
  }
}

const NODE_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];

function checkExpressions(list: Field, operators: readonly string[]): void {
  for (const expression of list.items()) {
    expression.at('key').required().text();
    expression
      .at('operator')
      .required()
      .oneOf(...operators);
    for (const value of expression.at('values').items()) value.required().text();
  }
}

function checkSelector(selector: Field): void {
  selector.at('matchLabels').textMap();
  checkExpressions(selector.at('matchExpressions'), NODE_OPERATORS.slice(0, 4));
}

function checkAffinityTerm(term: Field): void {
  term.at('topologyKey').required().text();
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
  container.at('resources').at('requests').quantities();
  container.at('resources').at('limits').quantities();
  for (const port of container.at('ports').items()) port.at('hostPort').count();
}

/** A pod's spec, as far as placing it goes. */
export function checkPodSpec(spec: Field): void {
  const containers = spec.required().at('containers').required().items();
  for (const container of [...containers, ...spec.at('initContainers').items()]) checkContainer(container);
  spec.at('overhead').quantities();
  spec.at('nodeSelector').textMap();
  checkAffinity(spec.at('affinity'));
  for (const toleration of spec.at('tolerations').items()) {
    toleration.at('operator').oneOf('Exists', 'Equal', 'Gt', 'Lt', '');
    toleration.at('effect').oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute', '');
  }
  for (const constraint of spec.at('topologySpreadConstraints').items()) {
    constraint.at('maxSkew').required().number();
    constraint.at('topologyKey').required().text();
    constraint.at('whenUnsatisfiable').required().oneOf('DoNotSchedule', 'ScheduleAnyway');
    checkSelector(constraint.at('labelSelector'));
  }
}

export function checkWorkload(object: Field): void {
  const spec = object.at('spec').required();
  for (const key of ['replicas', 'completions', 'parallelism']) spec.at(key).count();
  spec.at('template').required();
  spec.at('template').at('metadata').at('labels').textMap();
  checkPodSpec(spec.at('template').at('spec'));
}

export function checkNode(object: Field): void {
  object.at('metadata').at('labels').textMap();
  object.at('status').at('capacity').quantities();
  object.at('status').at('allocatable').quantities();
  for (const taint of object.at('spec').at('taints').items()) {
    taint.at('key').required().text();
    taint.at('effect').required().oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute');
  }
}
