/** What Kubernetes says of the models of its built-in kinds. */
import { DESCRIPTIONS } from './descriptions.ts';

export interface ModelDocumentation {
  readonly description: string;
  readonly required: readonly string[];
  /** Descriptions by field. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Lines by model; parsed one by one when they are asked for, because most are never. */
let lines: ReadonlyMap<string, string> | undefined;
const known = new Map<string, ModelDocumentation>();

/** The documentation of a generated model such as `V1Pod`; undefined where there is none. */
export function documentationOf(model: string): ModelDocumentation | undefined {
  lines ??= new Map(
    DESCRIPTIONS.trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  );
  const found = known.get(model);
  const line = lines.get(model);
  if (found || line === undefined) return found;
  const [description, required, fields] = JSON.parse(line) as [string, string[], Record<string, string>];
  const parsed = { description, required, fields: new Map(Object.entries(fields)) };
  known.set(model, parsed);
  return parsed;
}
