/** Manifests of `examples/gitops`, and recorded objects with their health. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '#api/objects';

const ROOT = join(import.meta.dirname, '../..');

export const gitOpsText = (file: string): string => readFileSync(join(ROOT, 'examples/gitops', file), 'utf8');

export const documentsOf = <T = KubeObject>(text: string): readonly T[] =>
  parseAllDocuments(text).map((document) => document.toJS() as T);

type Health = 'Healthy' | 'Progressing' | 'Degraded';

/** Recorded objects with the health that Argo CD and Flux must see, and its message. */
export const RECORDED: readonly (readonly [name: string, health: Health, message: string])[] = [
  ['NodePool default', 'Healthy', ''],
  ['NodePool fresh', 'Progressing', 'Waiting for the conditions'],
  ['NodePool static', 'Progressing', 'Waiting for the conditions'],
  ['NodeClaim default-ready', 'Healthy', ''],
  ['NodeClaim default-starting', 'Progressing', 'Registered: Node not registered with cluster'],
  ['NodeClaim default-waiting', 'Progressing', 'Waiting for the launch'],
  ['EC2NodeClass default', 'Healthy', ''],
  ['EC2NodeClass lost', 'Degraded', 'SubnetsReady: SubnetSelector did not match any Subnets'],
];

/** Returns a recorded object, as the operator writes it. */
export function recordedObject(name: string): KubeObject {
  const all = documentsOf(readFileSync(join(ROOT, 'test/cluster/printed/objects.yaml'), 'utf8'));
  const found = all.find(({ kind, metadata }) => `${kind} ${metadata.name}` === name);
  if (found === undefined) throw new Error(`objects.yaml has no ${name}`);
  return found;
}
