/**
 * Writes what Kubernetes says of the fields of its built-in kinds, for the local API server's OpenAPI documents: one model a
 * line, read from the models that @kubernetes/client-node generates from Kubernetes' own document.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { addBuiltins } from './src/local/kubernetes/apiserver/resources/builtins.ts';
import { modelShape } from './src/local/kubernetes/apiserver/resources/models.ts';
import { createRegistry } from './src/local/kubernetes/apiserver/resources/registry.ts';
import type { Shape } from './src/local/kubernetes/apiserver/resources/shape.ts';

const MODELS = join(dirname(createRequire(import.meta.url).resolve('@kubernetes/client-node')), 'gen/models');

export const DESCRIPTIONS_FILE = 'src/local/kubernetes/apiserver/resources/descriptions.ts';

/** Every model that an object of a stored kind consists of. */
function modelNames(): readonly string[] {
  const registry = createRegistry();
  addBuiltins(registry);
  const found = new Set<string>();
  const visit = (shape: Shape): void => {
    if (shape.items) visit(shape.items);
    if (shape.type !== 'object' || shape.name === undefined || found.has(shape.name)) return;
    found.add(shape.name);
    for (const field of shape.fields?.values() ?? []) visit(field);
  };
  for (const { model = '' } of registry.all()) visit(modelShape(model));
  return [...found].sort();
}

const FIELD = /(?:\/\*\*\n((?:(?!\*\/)[\s\S])*?)\*\/\s*)?'(\w+)'(\??): [^;]+;/g;
const CLASS = /\/\*\*\n((?:(?!\*\/)[\s\S])*?)\*\/\s*export declare class/;

/** The text of a comment, its lines joined. */
const textOf = (comment = ''): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .filter((line) => line !== '')
    .join(' ')
    .replaceAll("\\'", "'")
    .replaceAll('\\"', '"');

function lineOf(model: string): string {
  const source = readFileSync(join(MODELS, `${model}.d.ts`), 'utf8');
  const body = source.slice(source.indexOf('export declare class'), source.indexOf('static readonly discriminator'));
  const fields: Record<string, string> = {};
  const required: string[] = [];
  for (const [, comment, name = '', optional] of body.matchAll(FIELD)) {
    const text = textOf(comment);
    if (text !== '') fields[name.replace(/^_/, '')] = text;
    if (optional === '') required.push(name.replace(/^_/, ''));
  }
  return `${model} ${JSON.stringify([textOf(CLASS.exec(source)?.[1]), required, fields])}`;
}

/** The text of the file. */
export function kubernetesDescriptions(): string {
  const lines = modelNames().map((name) => lineOf(name).replace(/[\\`]|\$\{/g, (mark) => `\\${mark}`));
  return `/** Generated from @kubernetes/client-node. A model a line: its name, and its description, required fields and fields. */
export const DESCRIPTIONS = \`
${lines.join('\n')}
\`;
`;
}
