/** The subset of JSONPath for printer columns and scale paths: fields, indexes, wildcards and equality filters. */
import { isRecord } from './json.ts';

type Step = (value: unknown) => readonly unknown[];

export type JsonPath = (object: unknown) => readonly unknown[];

const field =
  (name: string): Step =>
  (value) =>
    isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : [];

const everything: Step = (value) => {
  if (Array.isArray(value)) return value;
  return isRecord(value) ? Object.values(value) : [];
};

const index =
  (position: number): Step =>
  (value) => {
    const found = Array.isArray(value) ? value.at(position) : undefined;
    return found === undefined ? [] : [found];
  };

function literal(written: string): unknown {
  const quoted = /^(["'])(.*)\1$/.exec(written);
  if (quoted) return quoted[2];
  if (written === 'true' || written === 'false') return written === 'true';
  return Number(written);
}

/** Parses `@.type=="Ready"`, `@.ready==true`, or `@.name` for presence. */
function filter(expression: string): Step {
  const parsed = /^\s*@((?:[^=!<>\\]|\\.)+)(?:(==|!=)(.+))?$/.exec(expression);
  if (!parsed) return () => [];
  const path = compile((parsed[1] ?? '').trim());
  const operator = parsed[2];
  const wanted = literal((parsed[3] ?? '').trim());
  const keeps = (item: unknown): boolean => {
    const values = path(item);
    if (operator === undefined) return values.length > 0;
    return values.includes(wanted) === (operator === '==');
  };
  return (value) => (Array.isArray(value) ? value.filter(keeps) : []);
}

function bracket(inside: string): Step {
  if (inside === '*') return everything;
  const condition = /^\?\((.*)\)$/.exec(inside);
  if (condition) return filter(condition[1] ?? '');
  const quoted = /^(["'])(.*)\1$/.exec(inside);
  if (quoted) return field((quoted[2] ?? '').replaceAll('\\.', '.'));
  return index(Number(inside));
}

const TOKEN = /\[(\?\((?:[^)"']|"[^"]*"|'[^']*')*\)|"[^"]*"|'[^']*'|[^\]]*)\]|\.((?:\\.|[^.[\]\\])+)/gy;

function compile(path: string): JsonPath {
  const steps: Step[] = [];
  for (const [, inside, name] of path.matchAll(TOKEN)) {
    if (inside !== undefined) steps.push(bracket(inside));
    else if (name === '*') steps.push(everything);
    else if (name !== undefined) steps.push(field(name.replaceAll(/\\(.)/g, '$1')));
  }
  return (object) => steps.reduce<readonly unknown[]>((values, step) => values.flatMap(step), [object]);
}

const compiled = new Map<string, JsonPath>();

/** Compiles a path such as `.status.conditions[?(@.type=="Ready")].status`. The path may be in braces. */
export function jsonPath(path: string): JsonPath {
  let found = compiled.get(path);
  if (!found) {
    const bare = path.replace(/^\{(.*)\}$/, '$1').replace(/^\$/, '');
    found = compile(bare.startsWith('.') || bare.startsWith('[') ? bare : `.${bare}`);
    compiled.set(path, found);
  }
  return found;
}
