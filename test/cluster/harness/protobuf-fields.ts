/**
 * Generates the table of protobuf fields that the local API server uses to decode bodies, from the Go types of its
 * kinds. Run `node test/cluster/harness/protobuf-fields.ts` after an upgrade of k8s.io/api.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { addBuiltins, createRegistry, REVIEWS } from '#local/testing';
import { clientProgram } from './binaries.ts';

const run = promisify(execFile);

const FOLDER = fileURLToPath(new URL('../../../src/local/kubernetes/apiserver/http/', import.meta.url));

/** Bodies of subresources, and the options of a deletion. */
const SUBRESOURCES = [
  '/v1/Binding',
  'authentication.k8s.io/v1/TokenRequest',
  'autoscaling/v1/Scale',
  'policy/v1/Eviction',
  'apps/v1/DeleteOptions',
];

function kinds(): readonly string[] {
  const registry = createRegistry();
  addBuiltins(registry);
  const stored = registry.all().map(({ group, version, kind }) => `${group}/${version}/${kind}`);
  const reviews = Object.entries(REVIEWS).map(([path, { kind }]) => `${path.slice(0, path.lastIndexOf('/'))}/${kind}`);
  return [...stored, ...reviews, ...SUBRESOURCES];
}

const EXPLANATION = `/**
 * Field numbers of the messages that Go clients send, one message per line: \`number:jsonName:type\`. They are the struct
 * tags of k8s.io/api and never change. test/cluster/harness/protobuf-fields.ts generates them. An empty name is an
 * embedded message, and its fields belong to its parent. Types: s text, i integer, t boolean, d double, y bytes, q
 * quantity, T time, u time with microseconds, o number or text, r raw JSON, m message; for schemas B schema or boolean,
 * A schema or list, S schema or list of text. Prefixes: * is a pointer (kept if zero), ! is a value that JSON always
 * contains, [ is a list and { is a map by text.
 */`;

const GROUPS_EXPLANATION = '/** Field numbers of the remaining packages, in the format of protobuf-fields-core.ts. */';

const source = (explanation: string, name: string, lines: readonly string[]): string =>
  `${explanation}\nexport const ${name} = \`\n${lines.join('\n')}\n\`;\n`;

/** Returns the files of the table by path. */
export async function protobufFieldFiles(): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await run(await clientProgram(), ['fields', ...kinds()], { maxBuffer: 16 * 1024 * 1024 });
  const lines = stdout.trim().split('\n');
  const isCore = (line: string): boolean => line.startsWith('core/');
  const core = lines.filter(isCore);
  const others = lines.filter((line) => !isCore(line));
  const name = (file: string): string => join(FOLDER, `protobuf-fields-${file}.ts`);
  return new Map([
    [name('core'), source(EXPLANATION, 'CORE_FIELDS', core)],
    [name('groups'), source(GROUPS_EXPLANATION, 'GROUP_FIELDS', others)],
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of await protobufFieldFiles()) await writeFile(path, text);
}
